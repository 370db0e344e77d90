// SPDX-License-Identifier: Apache-2.0
// Which rules a run clears: a table over what befell a rule behind a localisation, and one behind a repair.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/findings.h"

namespace sickbay::diagnose {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// look -> bad -> find -> `behind` drains; look -> down -> mend -> mended -> see -> `after` drains; `direct`
// drains by look alone; `late` by a characteristic that some period gives, and no operation.
constexpr const char* kRules = R"({"specification": "s", "version": 1, "description": "d",
  "characteristics": {"mode": {"type": "string", "description": "d"}, "repair": {"type": "bool", "description": "d"},
    "bad": {"type": "bool", "description": "d"}, "up": {"type": "bool", "description": "d"}, "part": {"type": "integer", "description": "d"},
    "mended": {"type": "bool", "description": "d"}, "up_after": {"type": "bool", "description": "d"}, "given": {"type": "bool", "description": "d"}},
  "predicates": {"any": {"when": "mode != \"\"", "description": "d"}, "is_bad": {"when": "bad", "description": "d"},
    "part_known": {"when": "part > 0", "description": "d"}, "down": {"when": "repair AND NOT up", "description": "d"},
    "tried": {"when": "mended", "description": "d"}, "still": {"when": "NOT up_after", "description": "d"},
    "direct": {"when": "bad AND NOT up", "description": "d"}, "late": {"when": "given", "description": "d"}},
  "operations": {"look": {"kind": "collect", "run": "x", "outputs": ["bad", "up"], "description": "d"},
    "find": {"kind": "localise", "run": "x", "outputs": ["part"], "description": "d"},
    "mend": {"kind": "repair", "run": "x", "outputs": ["mended"], "description": "d", "budget": {"runs": 1, "window": "1h"}},
    "see": {"kind": "verify", "run": "x", "outputs": ["up_after"], "description": "d"},
    "out": {"kind": "critical", "run": "builtin:drain", "description": "d"}},
  "productions": {"p0": {"if": "any", "then": "look", "description": "d"}, "p1": {"if": "is_bad", "then": "find", "description": "d"},
    "behind": {"if": "part_known", "then": "out", "description": "d"}, "p2": {"if": "down", "then": "mend", "description": "d"},
    "p3": {"if": "tried", "then": "see", "description": "d"}, "after": {"if": "still", "then": "out", "description": "d"},
    "direct": {"if": "direct", "then": "out", "description": "d"}, "late": {"if": "late", "then": "out", "description": "d"}}})";

OperationEnd unknown_end() { return answer(OperationEnd::Result::unknown, Json::object(), "no tool"); }
OperationEnd looked(bool bad, bool up) { return ok(Json::object({{"bad", bad}, {"up", up}})); }

TEST(Cleared, ByAWholeRunInWhichAllThatLeadsToTheRuleIsWell) {
  const auto found = ok(Json::object({{"part", 3}})), none = ok(Json::object({{"part", 0}}));
  const auto mended = ok(Json::object({{"mended", true}})), failed = ok(Json::object({{"mended", false}}));
  const auto still = ok(Json::object({{"up_after", false}})), helped = ok(Json::object({{"up_after", true}}));
  const struct {
    const char* what;
    std::map<std::string, OperationEnd> answers;
    bool repair;  // permitted, and the period's word
    int spent;    // runs of mend before
    std::vector<std::string> cleared;
  } rows[] = {
      {"all is well: nothing to find, nothing to mend",
       {{"look", looked(false, true)}},
       true,
       0,
       {"behind", "after", "direct"}},
      {"found: true", {{"look", looked(true, true)}, {"find", found}}, true, 0, {"after", "direct"}},
      {"looked for and not found: false",
       {{"look", looked(true, true)}, {"find", none}},
       true,
       0,
       {"behind", "after", "direct"}},
      {"the localisation could not tell",
       {{"look", looked(true, true)}, {"find", unknown_end()}},
       true,
       0,
       {"after", "direct"}},
      {"the look could not tell", {{"look", unknown_end()}}, true, 0, {}},
      {"the look told one of two",
       {{"look", ok(Json::object({{"bad", false}}))}},
       true,
       0,
       {"behind", "direct"}},

      {"the repair helped: false",
       {{"look", looked(false, false)}, {"mend", mended}, {"see", helped}},
       true,
       0,
       {"behind", "after", "direct"}},
      {"it did not: true",
       {{"look", looked(false, false)}, {"mend", mended}, {"see", still}},
       true,
       0,
       {"behind", "direct"}},
      {"it failed, and nobody verified",
       {{"look", looked(false, false)}, {"mend", failed}},
       true,
       0,
       {"behind", "direct"}},
      {"it could not tell",
       {{"look", looked(false, false)}, {"mend", unknown_end()}},
       true,
       0,
       {"behind", "direct"}},
      {"its budget is spent", {{"look", looked(false, false)}}, true, 1, {"behind", "direct"}},
      {"it is not permitted, and needed", {{"look", looked(false, false)}}, false, 0, {"behind", "direct"}},
      {"it is not permitted, and not needed",
       {{"look", looked(false, true)}},
       false,
       0,
       {"behind", "after", "direct"}},
  };
  const auto rules = rules_of(kRules);
  for (const auto& row : rows) {
    RunStarted started;
    started.initial = {{"mode", std::string("quick")}, {"repair", row.repair}};
    started.permits.repair.given = row.repair;
    started.spent["mend"] = row.spent;
    const Driven d = drive(rules, started, row.answers);
    EXPECT_EQ(cleared_rules(d.run), row.cleared) << row.what << "\n" << canonical_text(d.run);
  }
}

TEST(Cleared, NotByARepairThatWasRefusedByItsKindAlone) {
  // The period permits it by name, the site does not: mend is wanted and refused.
  RunStarted started;
  started.initial = {{"mode", std::string("quick")}, {"repair", true}};
  const Driven d = drive(rules_of(kRules), started, {{"look", looked(false, false)}});
  EXPECT_THAT(cleared_rules(d.run), ElementsAre("behind", "direct"));
}

TEST(Cleared, NotByARunThatWasCutNorBeforeItsEnd) {
  const auto rules = rules_of(kRules);
  RunStarted started = permitted({});
  started.initial = {{"mode", std::string("quick")}, {"repair", true}};
  diagnose::Run run(rules);
  apply(run, started);
  EXPECT_THAT(cleared_rules(run), IsEmpty());
  apply(run, OperationStarted{kNoTime, 0});
  apply(run, RunStopped{kNoTime, "the time is over"});
  apply(run, OperationFinished{kNoTime, 0, looked(false, true)});
  ASSERT_EQ(run.phase, Phase::over);
  EXPECT_THAT(cleared_rules(run), IsEmpty());
}

TEST(Cleared, ARuleThatWaitsForItselfAloneIsWell) {
  // f1 and f2 lead to each other, and nothing else to them.
  const auto rules = rules_of(R"({"specification": "s", "version": 1, "description": "d",
  "characteristics": {"go": {"type": "bool", "description": "d"}, "a": {"type": "bool", "description": "d"}, "b": {"type": "bool", "description": "d"}},
  "predicates": {"c": {"when": "go", "description": "d"}, "ca": {"when": "a", "description": "d"}, "cb": {"when": "b", "description": "d"}},
  "operations": {"f1": {"kind": "collect", "run": "x", "outputs": ["a"], "description": "d"}, "f2": {"kind": "test", "run": "x", "outputs": ["b"], "description": "d"},
    "out": {"kind": "critical", "run": "builtin:drain", "description": "d"}},
  "productions": {"p0": {"if": "c", "then": "f1", "description": "d"}, "p1": {"if": "ca", "then": "f2", "description": "d"},
    "p2": {"if": "cb", "then": "f1", "description": "d"}, "rule": {"if": "cb", "then": "out", "description": "d"}}})");
  const auto cleared = [&](std::vector<std::pair<std::string, Value>> initial) {
    RunStarted started;
    started.initial = std::move(initial);
    return cleared_rules(
        drive(rules, started, {{"f1", ok(Json::object({{"a", true}}))}, {"f2", unknown_end()}}).run);
  };
  EXPECT_THAT(cleared({{"go", false}}), ElementsAre("rule"));
  EXPECT_THAT(cleared({{"go", true}}), IsEmpty()) << "f2 could not tell";
  EXPECT_THAT(cleared({}), IsEmpty()) << "nobody said whether to go: want of data";
}

}  // namespace
}  // namespace sickbay::diagnose
