// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/leave.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/diagnose/diagnose_test_parts.h"

namespace sickbay::diagnose {
namespace {

// One check by a predicate, with what it says of itself.
std::shared_ptr<const Rules> check(const std::string& when, const std::string& run, const std::string& more) {
  return rules_of(fmt::format(
      R"({{"specification": "s", "version": 1, "description": "d",
    "characteristics": {{"mode": {{"type": "string", "description": "d"}}, "full": {{"type": "bool", "description": "d"}},
      "forced": {{"type": "bool", "description": "d"}}}},
    "predicates": {{"any": {{"when": "true", "description": "d"}}, "hard": {{"when": "{}", "description": "d"}}}},
    "operations": {{"look": {{"kind": "collect", "run": "look", "outputs": ["full"], "description": "d"}},
      "try": {{"kind": "test", "run": "{}"{}, "description": "d"}}}},
    "productions": {{"p0": {{"if": "any", "then": "look", "description": "d"}},
      "p1": {{"if": "hard", "then": "try", "description": "d"}}}}}})",
      when, run, more));
}

Permits all() { return {{true, ""}, {true, ""}, {false, "nobody asked"}}; }

TEST(Leave, IsNeededByWhatBurdensANodeOrWhatNodesShare) {
  const struct {
    const char *run, *more;
    bool active;
  } rows[] = {
      {"try", "", false},
      {"builtin:ping", "", false},
      {"builtin:cpu_test", "", true},
      {"builtin:disk_test", "", true},
      {"builtin:throughput", "", true},
      {"try", R"(, "needs_idle": true)", true},
      {"try", R"(, "active": true)", true},  // a file system that nodes share, say: no job here feels it

      {"try", R"(, "peer": {"runs": "look"})", true},  // a network

      // Beside jobs, and yet not on all nodes at once.
      {"builtin:throughput", R"(, "needs_idle": false)", true},

      {"builtin:cpu_test", R"(, "active": false)", false},
      {"try", R"(, "needs_idle": true, "active": false)", false},
  };
  for (const auto& row : rows) {
    const auto rules = check("mode == \\\"deep\\\"", row.run, row.more);
    EXPECT_EQ(may_need_leave(*rules, {{"mode", std::string("deep")}}, all()), row.active)
        << row.run << row.more;
    EXPECT_EQ(is_active(rules->specification.operations[1]), row.active);
    EXPECT_FALSE(may_need_leave(*rules, {{"mode", std::string("quick")}}, all())) << row.run << row.more;
  }
}

TEST(Leave, IsAskedForInDoubt) {
  const struct {
    const char* when;
    std::vector<std::pair<std::string, Value>> initial;
    bool may;
  } rows[] = {
      {"mode == \\\"deep\\\"", {{"mode", std::string("deep")}}, true},
      {"mode == \\\"deep\\\"", {{"mode", std::string("quick")}}, false},
      {"mode == \\\"deep\\\"", {}, true},                // nobody has said
      {"mode == \\\"deep\\\"", {{"mode", true}}, true},  // a value of a wrong type is left out
      {"full", {{"mode", std::string("quick")}}, true},  // nobody knows yet
      {"full", {{"full", false}}, true},                 // what is found replaces it
      {"mode == \\\"deep\\\" AND full", {{"mode", std::string("quick")}}, false},
      {"mode == \\\"deep\\\" OR full", {{"mode", std::string("quick")}}, true},
      {"mode == \\\"deep\\\" OR forced", {{"mode", std::string("quick")}, {"forced", false}}, false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(may_need_leave(*check(row.when, "builtin:cpu_test", ""), row.initial, all()), row.may)
        << row.when;
}

TEST(Leave, IsOfNoUseWhereSomethingElseForbidsIt) {
  const auto rules = check("mode == \\\"deep\\\"", "builtin:cpu_test", "");
  Permits busy = all();
  busy.stress = {false, "a job is here"};
  EXPECT_FALSE(may_need_leave(*rules, {{"mode", std::string("deep")}}, busy));
  const auto shared = check("mode == \\\"deep\\\"", "try", R"(, "active": true)");
  EXPECT_TRUE(may_need_leave(*shared, {{"mode", std::string("deep")}}, busy)) << "it needs no idle node";
}

TEST(Leave, WithoutItTheCheckIsNotRunAndSaysSo) {
  const auto rules = check("mode == \\\"deep\\\"", "builtin:cpu_test", "");
  RunStarted started = permitted({});
  started.initial = {{"mode", std::string("deep")}};
  started.permits.active = {false, "too many others do"};
  const Driven d = drive(rules, started, {});
  ASSERT_EQ(d.run.instances.size(), 2u);
  EXPECT_TRUE(d.run.instances[1].refused);
  EXPECT_EQ(d.run.instances[1].text, "not run: active check not permitted: too many others do");
  started.permits.active = {true, ""};
  EXPECT_TRUE(drive(rules, started, {}).run.instances.at(1).started);
}

TEST(Leave, IsNothingThatACriticalOperationCouldWaitFor) {
  const auto read = read_one(R"({"specification": "s", "version": 1, "description": "d",
    "operations": {"out": {"kind": "critical", "run": "builtin:drain", "active": true, "description": "d"}}})");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().what, testing::HasSubstr("a critical operation cannot wait for leave"));
}

}  // namespace
}  // namespace sickbay::diagnose
