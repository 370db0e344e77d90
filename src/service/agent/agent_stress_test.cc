// SPDX-License-Identifier: Apache-2.0
// Stress of the node: only where no job is, and no longer than none is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::HasSubstr;

// One operation that stresses by what it is, beside one that only reads.
std::string stressing(const std::string& modes, const std::string& condition, const std::string& periods) {
  return fmt::format(R"({{"specification": "burn", "version": 1, "description": "d",
    "components": {{"cpu": {{"description": "d"}}}},
    "characteristics": {{{0}, "wrong": {{"type": "integer", "description": "d"}}, "seen": {{"type": "bool", "description": "d"}}}},
    "predicates": {{"always": {{"when": "true", "description": "d"}}, "hard": {{"when": "{1}", "description": "d"}},
      "bad": {{"when": "wrong > 0", "description": "d"}}}},
    "operations": {{"look": {{"kind": "collect", "run": "look", "outputs": ["seen"], "description": "d"}},
      "burn": {{"kind": "test", "run": "builtin:cpu_test", "components": ["cpu"], "outputs": {{"cpu_wrong": "wrong"}}, "timeout": "600s", "description": "d"}},
      "out": {{"kind": "critical", "run": "builtin:drain", "description": "d"}}}},
    "productions": {{"p0": {{"if": "always", "then": "look", "description": "d"}}, "p1": {{"if": "hard", "then": "burn", "description": "d"}},
      "p2": {{"if": "bad", "then": "out", "description": "d"}}}},
    "periods": {{{2}}}}})",
                     modes, condition, periods);
}
const std::string kByWord =
    stressing(R"("mode": {"type": "string", "description": "d"})", R"(mode == \"extended\")",
              R"("always": {"description": "d", "every": "60s", "initial": {"mode": "quick"}})");

class Stress : public AgentTest {
 public:
  using AgentTest::busy_;
  using AgentTest::sickbayd_;
  Stress() {
    use_rules(kByWord);
    operations_.answers["look"].result = OperationEnd::Result::ok;
    operations_.answers["look"].outputs = Json::object({{"seen", true}});
    operations_.answers["burn"].result = OperationEnd::Result::ok;
    operations_.answers["burn"].outputs = Json::object({{"cpu_wrong", 0}});
  }
};

TEST_F(Stress, RunsOnlyWhereSlurmAndTheProcessListSayThatThereIsNoJob) {
  const struct {
    std::string state;
    std::vector<std::string> flags;
    std::optional<bool> busy;
    bool runs;
  } rows[] = {
      {"IDLE", {}, false, true},
      {"IDLE", {"DRAIN"}, false, true},
      {"IDLE", {"MAINTENANCE"}, false, true},

      {"IDLE", {}, true, false},
      {"ALLOCATED", {}, false, false},
      {"MIXED", {}, false, false},
      {"IDLE", {"COMPLETING"}, false, false},
      {"ALLOCATED", {"MAINTENANCE"}, false, false},

      {"", {}, false, false},  // what nobody tells is busy
      {"", {}, true, false},
      {"IDLE", {}, std::nullopt, false},
      {"UNKNOWN", {}, false, false},
      {"SOMETHING", {}, false, false},
  };
  std::int64_t task = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(fmt::format("{} {} busy {}", row.state, fmt::join(row.flags, "+"),
                             row.busy ? *row.busy ? "yes" : "no" : "unknown"));
    sickbayd_.state = row.state;
    sickbayd_.flags = row.flags;
    busy_ = row.busy;
    start();
    agent_->start();
    pass(seconds(3));
    operations_.ran.clear();
    sickbayd_.order(++task, "extended");
    pass(Micros(1000));
    EXPECT_EQ(operations_.count("burn"), row.runs ? 1 : 0);
    EXPECT_EQ(operations_.count("look"), 1);
    ASSERT_EQ(sickbayd_.results.size(), static_cast<std::size_t>(task)) << "the run ends";
    EXPECT_EQ(sickbayd_.results.back()["whole"].as_bool(), row.runs) << "what was not tested has not passed";
    EXPECT_EQ(sickbayd_.results.back()["error"].is_null(), row.runs);
  }
}

TEST_F(Stress, EndsWhenAJobStartsAndTheRunGoesOn) {
  const struct {
    const char* what;
    std::function<void(Stress&)> comes;
    const char* why;
  } rows[] = {
      {"a step by the processes", [](Stress& t) { t.busy_ = true; }, "a step of a job runs here"},
      {"Slurm's word", [](Stress& t) { t.sickbayd_.state = "MIXED"; }, "Slurm shows the node as MIXED"},
      {"nobody can list the processes", [](Stress& t) { t.busy_ = std::nullopt; },
       "the processes cannot be listed"},
      {"sickbayd has gone", [](Stress& t) { t.sickbayd_.away = true; }, "sickbayd has not told of late"},
  };
  std::size_t results = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    sickbayd_.state = "IDLE";
    sickbayd_.away = false;
    busy_ = false;
    start();
    agent_->start();
    pass(seconds(3));
    operations_.ran.clear();
    operations_.hang_in = "burn";
    sickbayd_.order(static_cast<std::int64_t>(results) + 1, "extended");
    pass(seconds(10));
    ASSERT_EQ(operations_.count("burn"), 1) << "under way";
    ASSERT_EQ(sickbayd_.results.size(), results);
    row.comes(*this);
    pass(minutes(4));
    sickbayd_.away = false;
    pass(minutes(3));
    ASSERT_EQ(sickbayd_.results.size(), ++results) << "the run ended";
    const Json& run = sickbayd_.results.back()["runs"].items().at(0);
    EXPECT_TRUE(run["whole"].as_bool()) << "it went to its end";
    EXPECT_FALSE(sickbayd_.results.back()["whole"].as_bool()) << "what was not tested has not passed";
    EXPECT_TRUE(run["values"]["wrong"].is_null())
        << "what it had found by then is not told: " << run["values"].dump();
    EXPECT_EQ(run["findings"].items().at(0)["result"].as_string(), "unknown");
    EXPECT_THAT(run["findings"].items().at(0)["text"].as_string(), HasSubstr(row.why));
  }
}

std::string with(std::string rules, std::string_view old, std::string_view now) {
  return rules.replace(rules.find(old), old.size(), now);
}

// (That one night's test made room for a job was told as an unknown finding, on some nodes each night.)
TEST_F(Stress, OfTheTimetableThatMakesRoomForAJobIsNoFinding) {
  // (The look comes first, and takes its time.)
  use_rules(
      with(stressing(R"("mode": {"type": "string", "description": "d"})", R"(mode == \"extended\")",
                     R"("always": {"description": "d", "every": "60s", "initial": {"mode": "extended"}})"),
           R"("run": "look",)", R"("run": "look", "components": ["cpu"], "timeout": "600s",)"));
  operations_.takes["look"] = seconds(20);
  for (const bool is_under_way : {true, false}) {
    SCOPED_TRACE(is_under_way ? "the test runs" : "the test is still to begin");
    sickbayd_.state = "IDLE";
    busy_ = false;
    start();
    operations_.hang_in = "";
    agent_->start();
    pass(seconds(50));  // The first run does not know of Slurm yet.
    operations_.ran.clear();
    sickbayd_.items.clear();
    operations_.hang_in = "burn";
    for (int i = 0; i < 300 && operations_.count(is_under_way ? "burn" : "look") == 0; ++i) pass(seconds(1));
    ASSERT_EQ(operations_.count("look"), 1);
    ASSERT_EQ(operations_.count("burn"), is_under_way ? 1 : 0);
    busy_ = true;
    pass(seconds(30));  // (The next run is told that it may not begin the test at all.)
    EXPECT_EQ(operations_.count("burn"), is_under_way ? 1 : 0);
    for (const Json& told : sickbayd_.items) EXPECT_NE(told["rule"].as_string(), "p1") << told.dump();
  }
}

// A check that is broken may drain (`unknown_runs`); one that jobs cut short each time may not.
TEST_F(Stress, ThatMakesRoomForJobsIsNotCountedAsACheckThatIsBroken) {
  const std::string rules = stressing(
      R"("mode": {"type": "string", "description": "d"}, "times": {"type": "integer", "description": "d"})",
      R"(mode == \"extended\")",
      R"("always": {"description": "d", "every": "60s", "initial": {"mode": "extended"}})");
  use_rules(
      with(with(rules, R"("cpu_wrong": "wrong")", R"("cpu_wrong": "wrong", "unknown_in_a_row": "times")"),
           "wrong > 0", "times >= 2"));
  sickbayd_.state = "IDLE";
  start();
  operations_.hang_in = "burn";
  agent_->start();
  for (int i = 0; i < 6; ++i) {
    busy_ = false;
    pass(minutes(2));
    busy_ = true;
    pass(minutes(2));
  }
  EXPECT_GT(operations_.count("burn"), 2);
  for (const Json& told : sickbayd_.items) EXPECT_NE(told["action"].as_string(), "drain") << told.dump();
}

TEST_F(Stress, AsTheTimetableHasItWaitsForAnIdleNodeToo) {
  use_rules(stressing(R"("mode": {"type": "string", "description": "d"})", R"(mode == \"extended\")",
                      R"("always": {"description": "d", "every": "60s", "initial": {"mode": "extended"}})"));
  start();
  agent_->start();
  pass(minutes(3));
  EXPECT_EQ(operations_.count("burn"), 0) << "nobody has told of Slurm";
  EXPECT_GT(operations_.count("look"), 1);
  sickbayd_.state = "IDLE";
  pass(minutes(3));
  EXPECT_GT(operations_.count("burn"), 1);
}

TEST_F(Stress, ARequestForTheQuickModeRunsNoneWhateverTheSpecificationMakesOfIt) {
  sickbayd_.state = "IDLE";
  use_rules(stressing(R"("burn_in": {"type": "bool", "description": "d"})", "burn_in",
                      R"("always": {"description": "d", "every": "1h", "initial": {"burn_in": true}})"));
  start();
  agent_->start();
  pass(seconds(3));
  operations_.ran.clear();
  sickbayd_.order(1, "quick");
  pass(Micros(1000));
  EXPECT_EQ(operations_.count("burn"), 0);
  ASSERT_EQ(sickbayd_.results.size(), 1u);
  EXPECT_THAT(sickbayd_.results[0].dump(), HasSubstr("the quick mode was asked for"));
  EXPECT_TRUE(sickbayd_.results[0]["whole"].as_bool()) << "the quick mode has no such tests";
}

TEST_F(Stress, ADefaultDiagnoseDoesNotRunTheBurnInWhereModesAreBoolean) {
  sickbayd_.state = "IDLE";
  use_rules(stressing(
      R"("quick": {"type": "bool", "description": "d"}, "extended": {"type": "bool", "description": "d"})",
      "extended",
      R"("care": {"description": "d", "node": "maintenance", "every": "1h", "initial": {"quick": true, "extended": true}},
                     "always": {"description": "d", "every": "60s", "initial": {"quick": true, "extended": false}})"));
  start();
  agent_->start();
  pass(seconds(3));
  sickbayd_.order(1, "quick");
  pass(Micros(1000));
  EXPECT_EQ(operations_.count("burn"), 0);
  sickbayd_.order(2, "extended");
  pass(Micros(1000));
  EXPECT_EQ(operations_.count("burn"), 1) << "asked for, and the node is idle";
  ASSERT_EQ(sickbayd_.results.size(), 2u);
}

}  // namespace
}  // namespace sickbay::agent
