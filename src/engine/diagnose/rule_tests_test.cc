// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/rule_tests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "engine/diagnose/diagnose_test_parts.h"
#include "engine/diagnose/explain.h"
#include "engine/diagnose/lint.h"

namespace sickbay::diagnose {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string file_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RuleTests, ThePapersMemoryExampleGoesAsThePaperSays) {
  const auto rules = rules_of(file_text(SB_RULES "/examples/memory.json"));
  const auto tests = parse_rule_tests({"memory.test.json", file_text(SB_RULES "/examples/memory.test.json")});
  ASSERT_TRUE(tests) << tests.error().message("test");
  ASSERT_GE(tests->tests.size(), 5u);
  for (const RuleTest& test : tests->tests)
    EXPECT_THAT(run_rule_test(rules, test).differences, IsEmpty()) << test.name;
  EXPECT_THAT(lint(*rules), IsEmpty());
}

// A specification with a repair that has a budget, for the tests below.
const char* const kService = R"({"specification": "service", "version": 1, "description": "d",
  "components": {"munge": {"description": "d"}},
  "characteristics": {"repair": {"type": "bool", "description": "d"}, "up": {"type": "bool", "description": "d"},
    "load": {"type": "fraction", "description": "d"},
    "spent": {"type": "bool", "description": "d"}, "up_after": {"type": "bool", "description": "d"}},
  "predicates": {"always": {"when": "true", "description": "d"}, "down": {"when": "NOT up AND repair", "description": "munged is down"},
    "tried": {"when": "NOT up", "description": "d"},
    "given_up": {"when": "spent OR NOT up_after", "description": "d"}},
  "operations": {
    "look": {"kind": "collect", "run": "x", "components": ["munge"], "outputs": ["up", "load"], "description": "d"},
    "restart": {"kind": "repair", "run": "x", "components": ["munge"], "outputs": {"budget_spent": "spent"}, "description": "d",
      "budget": {"runs": 2, "window": "1h"}},
    "again": {"kind": "verify", "run": "x", "components": ["munge"], "outputs": {"up": "up_after"}, "description": "d"},
    "out": {"kind": "critical", "run": "builtin:drain", "description": "d"}},
  "productions": {"p0": {"if": "always", "then": "look", "description": "d"}, "p1": {"if": "down", "then": "restart", "description": "d"},
    "p2": {"if": "tried", "then": "again", "description": "d"}, "p3": {"if": "given_up", "then": "out", "description": "d"}},
  "periods": {"day": {"description": "d", "every": "60s", "initial": {"repair": true}}}})";

std::vector<std::string> differences(const std::string& runs) {
  const auto tests = parse_rule_tests({"t.test.json", R"({"tests": [{"name": "t", "runs": )" + runs + "}]}"});
  if (!tests) return {tests.error().what};
  return run_rule_test(rules_of(kService), tests->tests.at(0)).differences;
}

TEST(RuleTests, BudgetsCountOverTheRunsOfATest) {
  const std::string down =
      R"("period": "day", "answers": {"look": {"outputs": {"up": false, "load": 1}}, "again": {"outputs": {"up": true}}}, )";
  EXPECT_THAT(differences("[{" + down + R"("expect": {"actions": [], "budget_spent": []}},
    {"at": "10m", )" + down +
                          R"("expect": {"actions": []}},
    {"at": "20m", )" + down +
                          R"("expect": {"actions": ["drain"], "budget_spent": ["restart"]}},
    {"at": "61m", )" + down +
                          R"("expect": {"actions": [], "values": {"load": 1, "up_after": true}}}])"),
              IsEmpty());
}

TEST(RuleTests, SayWhatIsNotAsExpected) {
  const auto one = [&](const std::string& run) { return differences("[{" + run + "}]"); };
  const std::string up =
      R"("initial": {"repair": true}, "answers": {"look": {"outputs": {"up": true, "load": 0.5}}}, )";
  EXPECT_THAT(one(up + R"("expect": {"journal": ["always", "look", "down"]})"),
              ElementsAre("journal: expected always look down, got always look"));
  EXPECT_THAT(one(up + R"("expect": {"steps": [["always"], ["look"]]})"),
              ElementsAre("steps: expected always | look, got always look"));
  EXPECT_THAT(one(up + R"("expect": {"actions": ["drain"]})"),
              ElementsAre("actions: expected drain, got (nothing)"));
  EXPECT_THAT(one(up + R"("expect": {"findings": [{"rule": "p3"}]})"),
              ElementsAre(R"(findings: there is no number 1: {"rule":"p3"})"));
  EXPECT_THAT(one(up + R"("expect": {"fired": ["p1"], "not_fired": ["p0", "p9"]})"),
              ElementsAre("production 'p1': expected to fire, but not fired: NOT up AND repair is false (up "
                          "= true, repair = true)",
                          "production 'p0': expected not to fire, but fired: true is true",
                          "there is no production 'p9'"));
  EXPECT_THAT(
      one(up + R"("expect": {"values": {"up": false, "load": 0.5, "up_after": true, "x": 1}})"),
      ElementsAre("values: 'up': expected false, got true", "values: 'up_after' has none, expected true",
                  "values: there is no characteristic 'x'"));
  EXPECT_THAT(one(up + R"("ends": ["again"], "expect": {"cleared": []})"),
              ElementsAre("ends: 'again' does not run; running: look"));
  EXPECT_THAT(one(up + R"("ends": ["look", "again"], "expect": {"cleared": ["p3"]})"),
              ElementsAre("ends: 'again' never ran"));
  EXPECT_THAT(one(R"("period": "night", "expect": {"cleared": []})"),
              ElementsAre("the specification has no period 'night'"));
  EXPECT_THAT(one(R"("initial": {"repair": 1}, "expect": {"cleared": []})"),
              ElementsAre("initial: 'repair' must be true or false, not 1"));
  EXPECT_THAT(one(R"("answers": {"loook": {}}, "expect": {"cleared": []})"),
              ElementsAre("answers: there is no operation 'loook'"));
}

TEST(RuleTests, FilesWithFaultsAreRefused) {
  const struct {
    const char* text;
    const char* error;
  } rows[] = {
      {"{}", "t.test.json:1:1: the rule tests: lacks the key 'tests'"},
      {R"({"tests": []})", "key 'tests': must be a list with a test in it"},
      {R"({"tests": [{"name": "t", "runs": [{"expect": {}}]}]})", "key 'expect': must expect something"},
      {R"({"tests": [{"name": "t", "runs": [{"expects": {"cleared": []}}]}]})",
       "has the unknown key 'expects'; did you mean 'expect'?"},
      {R"({"tests": [{"name": "t", "runs": [{"expect": {"actions": ["dain"]}}]}]})", "did you mean 'drain'?"},
      {R"({"tests": [{"name": "t", "runs": [{"expect": {"findings": [{"rul": "x"}]}}]}]})",
       "a finding has no 'rul'; did you mean 'rule'?"},
      {R"({"tests": [{"name": "t", "runs": [{"answers": {"f": {"result": "good"}}, "expect": {"cleared": []}}]}]})",
       "'good' is none of ok, fault, unknown"},
      {R"({"tests": [{"name": "t", "runs": [{"at": "1h", "expect": {"cleared": []}}, {"at": "1m", "expect": {"cleared": []}}]}]})",
       "begins before the run that stands before it"},
  };
  for (const auto& row : rows) {
    const auto tests = parse_rule_tests({"t.test.json", row.text});
    ASSERT_FALSE(tests) << row.text;
    EXPECT_THAT(tests.error().what, HasSubstr(row.error)) << row.text;
  }
}

TEST(Explain, SaysWhyEachProductionFiredOrNot) {
  const auto rules = rules_of(kService);
  RunStarted started;
  started.initial = {{"repair", true}};
  const auto text = [&](const std::map<std::string, OperationEnd>& answers) {
    std::string out;
    for (const Explanation& e : explain(drive(rules, permitted(started), answers).run))
      out += fmt::format("{} {}: {}\n", e.production, to_string(e.outcome), e.text);
    return out;
  };
  EXPECT_EQ(text({{"look", ok(Json::object({{"up", false}, {"load", 1.5}}))},
                  {"again", answer(OperationEnd::Result::unknown, Json::object(), "timed out")}}),
            "p0 fired: fired: true is true\n"
            "p1 fired: fired: NOT up AND repair is true (up = false, repair = true)\n"
            "p2 fired: fired: NOT up is true (up = false)\n"
            "p3 unknown: not fired: spent OR NOT up_after is unknown (spent = false, up_after = unknown): "
            "again ended unknown: timed out\n");
  EXPECT_EQ(text({{"look", ok(Json::object({{"up", true}, {"load", 1.5}}))}}),
            "p0 fired: fired: true is true\n"
            "p1 false: not fired: NOT up AND repair is false (up = true, repair = true)\n"
            "p2 false: not fired: NOT up is false (up = true)\n"
            "p3 not_admissible: not fired: nothing gave spent, up_after a value\n");
}

std::vector<std::string> lint_of(const std::string& text, const std::vector<std::string>& restartable = {}) {
  std::vector<std::string> found;
  for (const LintFinding& f : lint(*rules_of(text), restartable))
    found.push_back(fmt::format("{}:{} {} {}", f.place.line, f.place.column, f.code, f.text));
  return found;
}

TEST(Lint, FindsWhatIsHardlyMeant) {
  EXPECT_THAT(lint_of(kService), IsEmpty());

  const auto found = lint_of(R"({"specification": "bad", "version": 1, "description": "d",
"components": {"a": {"description": "d"},
 "b": {"description": "d"}},
"characteristics": {"mode": {"type": "bool", "description": "d"},
 "never": {"type": "bool", "description": "d"},
 "late": {"type": "bool", "description": "d"},
 "idle": {"type": "bool", "description": "d"},
 "total": {"type": "percent", "description": "d"},
 "x": {"type": "bool", "description": "d"},
 "y": {"type": "bool", "description": "d"}},
"predicates": {"go": {"when": "mode", "description": "d"},
 "c_never": {"when": "never AND mode", "description": "d"},
 "c_late": {"when": "late", "description": "d"},
 "c_x": {"when": "x", "description": "d"},
 "c_y": {"when": "y", "description": "d"},
 "c_idle": {"when": "mode", "description": "d"}},
"operations": {"f1": {"kind": "collect", "run": "builtin:memry", "description": "d"},
 "f2": {"kind": "repair", "run": "builtin:memory", "description": "d", "outputs": ["late"]},
 "f3": {"kind": "collect", "run": "builtin:mount", "arguments": {"pth": "/"}, "outputs": {"mount_presnt": "x"}, "description": "d"},
 "f4": {"kind": "collect", "run": "builtin:memory", "outputs": {"memory_total": "total"}, "description": "d"},
 "f5": {"kind": "test", "run": "x", "outputs": ["x", "y"], "description": "d"},
 "f6": {"kind": "localise", "run": "x", "components": ["a"], "timeout": "10m", "outputs": ["x"], "description": "d"},
 "f7": {"kind": "critical", "run": "builtin:drain", "components": ["a"], "description": "d"},
 "f8": {"kind": "test", "run": "x", "description": "d"}},
"productions": {"p1": {"if": "go", "then": "f1", "description": "d"},
 "p2": {"if": "c_never", "then": "f3", "description": "d"},
 "p3": {"if": "go", "then": "f2", "description": "d"},
 "p4": {"if": "c_late", "then": "f4", "description": "d"},
 "p5": {"if": "c_x", "then": "f5", "description": "d"},
 "p6": {"if": "c_y", "then": "f6", "description": "d"},
 "p7": {"if": "go", "then": "f6", "description": "d"},
 "p8": {"if": "c_x", "then": "f7", "description": "d"}},
"periods": {"all": {"description": "d", "every": "60s", "initial": {"mode": true}},
 "more": {"description": "d", "every": "60s", "node": "idle", "from": "10:00", "to": "12:00", "initial": {}}}})");
  EXPECT_THAT(
      found, testing::UnorderedElementsAre(
                 "3:7 unused component 'b' is used by no operation",
                 "5:11 no_source nothing gives 'never' a value: it is no output of an operation, and in no "
                 "period initial",
                 "7:10 unused characteristic 'idle' is in no predicate, input or output",
                 "9:7 two_sources 'f3' and 'f5' both give 'x' in one phase: which value stays is chance",
                 "16:21 unused predicate 'c_idle' is in no production",
                 "17:22 builtin operation 'f1': there is no builtin:memry; did you mean 'builtin:memory'?",
                 "18:8 builtin operation 'f2': builtin:memory is a collect operation and is used as repair",
                 "18:8 builtin operation 'f2': builtin:memory has no output 'late'",
                 "18:8 unverified no operation of kind verify follows the repair 'f2': none reads what it "
                 "gives, or works on its components",
                 "18:8 no_component the repair 'f2' names no component: nothing keeps other operations from "
                 "running beside it",
                 "19:8 builtin operation 'f3': builtin:mount has no argument 'pth'; did you mean 'path'?",
                 "19:8 builtin operation 'f3': builtin:mount has no output 'mount_presnt'; did you mean "
                 "'mount_present'?",
                 "20:8 builtin operation 'f4': output 'memory_total' of builtin:memory is integer and cannot "
                 "be kept as percent in 'total'",
                 "21:8 cycle the answers of operations lead back to themselves: f5 -> f5",
                 "21:8 cycle the answers of operations lead back to themselves: f5 -> f6 -> f5",
                 "23:8 critical_waits 'f7' may wait up to 10m for 'f6', which works on the same component",
                 "24:8 unused operation 'f8' is in no production",
                 "26:8 unreachable production 'p2' never fires: nothing gives 'never' a value in any run",
                 "28:8 unreachable production 'p4' never fires: nothing gives 'late' a value before the "
                 "phase of its collect operation is over",
                 "34:10 hidden_period period 'more' is never chosen: those of its mode before it hold at all "
                 "its times"));
}

TEST(Lint, StressLetLooseBesideJobsIsNamed) {
  const auto found = [](const std::string& more) {
    return lint_of(R"({"specification": "s", "version": 1, "description": "d",
"characteristics": {"go": {"type": "bool", "description": "d"}}, "predicates": {"c": {"when": "go", "description": "d"}},
"operations": {"f": {"kind": "test", "run": "builtin:cpu_test", )" +
                   more + R"("description": "d"}},
"productions": {"p": {"if": "c", "then": "f", "description": "d"}}, "periods": {"a": {"description": "d", "every": "1h", "initial": {"go": true}}}})");
  };
  EXPECT_THAT(found(""), IsEmpty());
  EXPECT_THAT(found(R"("needs_idle": true, )"), IsEmpty());
  EXPECT_THAT(
      found(R"("needs_idle": false, )"),
      ElementsAre("3:21 stress operation 'f': builtin:cpu_test stresses the node, and 'needs_idle' is "
                  "false: jobs beside it feel it"));
  EXPECT_THAT(found(R"("active": true, )"), IsEmpty());
  EXPECT_THAT(
      found(R"("active": false, )"),
      ElementsAre("3:21 unbounded operation 'f': it stresses its node, and 'active' is false: it may run "
                  "on all nodes at once"));
}

TEST(Lint, ACommandThatNamesWhatItIsNotGivenIsNamed) {
  const auto found = [](const std::string& more) {
    return lint_of(R"({"specification": "s", "version": 1, "description": "d",
"characteristics": {"go": {"type": "bool", "description": "d"}}, "predicates": {"c": {"when": "go", "description": "d"}},
"operations": {"f": {"kind": "test", "run": "builtin:command", )" +
                   more + R"("description": "d"}},
"productions": {"p": {"if": "c", "then": "f", "description": "d"}}, "periods": {"a": {"description": "d", "every": "1h", "initial": {"go": true}}}})");
  };
  EXPECT_THAT(found(R"("inputs": ["go"], "arguments": {"command": "echo\n{go}"}, )"), IsEmpty());
  EXPECT_THAT(found(R"("arguments": {"command": "awk\n{print} {"}, )"), IsEmpty()) << "braces of its own";
  for (const char* argument : {"command", "input"})
    EXPECT_THAT(
        found(R"("arguments": {")" + std::string(argument) + R"(": "echo\n{x{go}"}, )"),
        ElementsAre("3:21 no_input operation 'f': {go} is given to the program as it stands, for 'go' "
                    "is no input of it"));
}

TEST(Lint, AHelperIsUsedByWhatNeedsIt) {
  const auto found = [](const std::string& peer) {
    return lint_of(R"({"specification": "s", "version": 1, "description": "d",
"characteristics": {"go": {"type": "bool", "description": "d"}}, "predicates": {"c": {"when": "go", "description": "d"}},
"operations": {"f": {"kind": "test", "run": "builtin:command", "arguments": {"command": "ping\n{peer}"}, )" +
                   peer + R"("description": "d"},
 "serve": {"kind": "test", "run": "x", "description": "d"}},
"productions": {"p": {"if": "c", "then": "f", "description": "d"}}, "periods": {"a": {"description": "d", "every": "1h", "initial": {"go": true}}}})");
  };
  EXPECT_THAT(found(R"("peer": {"runs": "serve"}, )"), IsEmpty());
  EXPECT_THAT(found(""), ElementsAre("4:11 unused operation 'serve' is in no production"));
}

TEST(Lint, ARestartOfWhatTheNodeCannotRestartIsNamed) {
  const auto found = [](const std::string& arguments, const std::vector<std::string>& restartable = {}) {
    return lint_of(R"({"specification": "s", "version": 1, "description": "d",
"characteristics": {"go": {"type": "bool", "description": "d"}}, "predicates": {"c": {"when": "go", "description": "d"}},
"operations": {"f": {"kind": "critical", "run": "builtin:restart", "arguments": {)" +
                       arguments + R"(}, "description": "d"}},
"productions": {"p": {"if": "c", "then": "f", "description": "d"}}, "periods": {"a": {"description": "d", "every": "1h", "initial": {"go": true}}}})",
                   restartable);
  };
  const std::string slurmd = R"("component": "slurmd")";
  EXPECT_THAT(found(slurmd), IsEmpty()) << "what the nodes can restart is not known";
  EXPECT_THAT(found(slurmd, {"munged", "slurmd"}), IsEmpty());
  EXPECT_THAT(found(slurmd, {"munged", "slurm"}),
              ElementsAre("3:21 unknown_component operation 'f' asks for the restart of 'slurmd', which "
                          "components.d of this node does not describe; did you mean 'slurm'?"));
  EXPECT_THAT(found(""), ElementsAre(HasSubstr("builtin operation 'f': builtin:restart needs the argument "
                                               "'component'")));
  EXPECT_THAT(found(R"("component": "")"),
              ElementsAre("3:21 builtin operation 'f': argument 'component' of builtin:restart names none"));
  EXPECT_THAT(found(slurmd + R"(, "class": "cluster")"),
              ElementsAre("3:21 builtin operation 'f': argument 'class' of builtin:restart must be component "
                          "or network"));
  EXPECT_THAT(found(slurmd + R"(, "class": "network")"), IsEmpty());
}

TEST(RuleTests, MayForbidRepairsAndHaveAJobOnTheNode) {
  const auto run = [](const std::string& given) {
    const auto tests =
        parse_rule_tests({"t.test.json", R"({"tests": [{"name": "t", "runs": [{)" + given + R"(}]}]})"});
    EXPECT_TRUE(tests) << tests.error().what;
    return run_rule_test(rules_of(kService), tests->tests.at(0)).differences;
  };
  const std::string down =
      R"("initial": {"repair": true}, "answers": {"look": {"outputs": {"up": false, "load": 1.5}}}, )";
  EXPECT_THAT(run(down + R"("expect": {"fired": ["p1"]})"), IsEmpty());
  EXPECT_THAT(run(down + R"("repair": false, "expect": {"not_fired": ["p1"], "values": {"repair": false}})"),
              IsEmpty());
}

TEST(Lint, ThePageNamesEachRule) {
  const std::string page = file_text(SB_RULES "/../doc/formats/specification.md");
  for (const LintRule& rule : lint_rules())
    EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` | {} | {} |\n", rule.code,
                                            rule.error ? "error" : "warning", rule.meaning)));
}

TEST(Lint, ASpecificationWithoutPeriodsSaysSo) {
  EXPECT_THAT(
      lint_of(
          R"({"specification": "s", "version": 1, "description": "d", "predicates": {"c": {"when": "1 > 2", "description": "d"}},
    "operations": {"f": {"kind": "collect", "run": "x", "description": "d"}}, "productions": {"p": {"if": "c", "then": "f", "description": "d"}}})"),
      ElementsAre("1:1 no_period specification 's' has no period: it runs only when asked for",
                  "1:87 constant predicate 'c' is never true: no characteristic is in it"));
}

}  // namespace
}  // namespace sickbay::diagnose
