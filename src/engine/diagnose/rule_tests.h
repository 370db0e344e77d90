// SPDX-License-Identifier: Apache-2.0
// Rule tests: what a specification does, written down beside it as NAME.test.json: facts in, findings out.
//
// A test is one or more runs in virtual time.  It says with what each begins, what each operation answers and
// which ends first; and what must come of it.  No operation really runs.  Format:
// doc/formats/specification.md.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/diagnose/findings.h"

namespace sickbay::diagnose {

struct RuleAnswer {
  OperationEnd end;
  Micros takes{0};  ///< virtual time from start to end
};

/// What must come of a run; what is not given is not looked at.
struct RuleExpectation {
  std::optional<std::vector<std::string>> journal;  ///< names of L's predicates and operations, in order
  std::optional<std::vector<std::vector<std::string>>> steps;  ///< the same, by step
  std::optional<std::vector<std::string>> actions;             ///< "drain", "notify operator": in order
  std::optional<std::vector<Json>> findings;                   ///< members that each must have, in order
  std::vector<std::string> fired, not_fired;                   ///< productions
  std::vector<std::pair<std::string, Json>> values;            ///< null: unknown
  std::optional<std::vector<std::string>> cleared;             ///< rules whose fault is gone, in order
  std::optional<std::vector<std::string>> budget_spent;        ///< repairs not run, in order
};

struct RuleRun {
  Micros at{0};        ///< since the first run; budgets count by it
  std::string period;  ///< whose initial values are taken; empty: default_period, none beside `initial`
  std::vector<std::pair<std::string, Json>> initial;  ///< over these
  bool repair = true;                                 ///< repairs are permitted, unless `initial` says not
  bool idle = true;                                   ///< no job is on the node
  std::map<std::string, std::vector<RuleAnswer>> answers;  ///< by operation, in turn; the last one again
  std::vector<std::string> ends;  ///< which operation ends next; then the one whose time is up first
  RuleExpectation expect;
};

struct RuleTest {
  std::string name, description;
  NodeIdentity node;
  std::vector<RuleRun> runs;
  Place place;
};

struct RuleTestFile {
  std::vector<std::string> specifications;  ///< files laid over each other, relative to the test's folder
  std::string specification;                ///< its name, where the files hold several; empty: the only one
  std::vector<RuleTest> tests;
};

/// `specifications` is empty where the file names none: then NAME.json beside NAME.test.json.
/// Errors: bad_input with file:line:column.
Result<RuleTestFile> parse_rule_tests(const SpecificationFile& file);

struct RuleTestResult {
  std::vector<std::string> differences;  ///< one sentence each; empty: passed
  std::vector<Run> runs;                 ///< as they ended, for explain
};
RuleTestResult run_rule_test(const std::shared_ptr<const Rules>& rules, const RuleTest& test);

}  // namespace sickbay::diagnose
