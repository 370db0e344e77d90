// SPDX-License-Identifier: Apache-2.0
// When a node is looked at: periods that hold together, the moment it falls idle, the end of a job.
#include <string>

#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

constexpr const char* kDeep =
    R"("deep": {"description": "d", "node": "idle", "every": "2h", "initial": {"mode": "deep", "repair": false}})";
constexpr const char* kQuick =
    R"("always": {"description": "d", "every": "60s", "initial": {"mode": "quick", "repair": false}})";
constexpr const char* kSeldom =
    R"("always": {"description": "d", "every": "20m", "initial": {"mode": "quick", "repair": false}})";

class Periods : public AgentTest {
 protected:
  void begin(const std::string& periods) {
    std::string text = kRules;
    const std::size_t at = text.find("\"periods\"");
    use_rules(text.substr(0, at) + "\"periods\": {" + periods + "}}");
    start();
    agent_->start();
  }
  void told(const std::string& state) {
    sickbayd_.state = state;
    if (sickbayd_.poll) sickbayd_.answer_poll(Json::array());
  }
};

TEST_F(Periods, AddUpTheQuickLooksGoOnUnderDeepOnes) {
  sickbayd_.state = "IDLE";
  begin(std::string(kDeep) + "," + kQuick);
  pass(minutes(30));
  EXPECT_GE(operations_.count("read"), 28) << "each minute, as by day";
  pass(hours(4));
  EXPECT_GE(operations_.count("test"), 2) << "and the deep ones at their pace";
  EXPECT_LE(operations_.count("test"), 4);
}

TEST_F(Periods, OfOneModeTheFirstHoldsAlone) {
  begin(std::string(R"("seldom": {"description": "d", "every": "1h", "initial": {"mode": "quick"}},)") +
        kQuick);
  pass(hours(3));
  EXPECT_LE(operations_.count("read"), 4) << "who says seldom means it";
}

TEST_F(Periods, IdleIsWhoHasNoJobBySlurmAndNoStepByTheProcesses) {
  const struct {
    std::string state;
    std::vector<std::string> flags;
    std::optional<bool> step;
    bool idle;
  } rows[] = {
      {"IDLE", {}, false, true},   {"IDLE", {"DRAIN"}, false, true},

      {"IDLE", {}, true, false},   {"IDLE", {}, std::nullopt, false},      {"ALLOCATED", {}, false, false},
      {"MIXED", {}, false, false}, {"IDLE", {"COMPLETING"}, false, false}, {"", {}, false, false},
  };
  for (const auto& row : rows) {
    new_node();
    sickbayd_.state = row.state;
    sickbayd_.flags = row.flags;
    busy_ = row.step;
    begin(kDeep);
    pass(hours(5));
    EXPECT_EQ(operations_.count("test") > 0, row.idle)
        << "'" << row.state << "' step: " << (row.step ? *row.step ? "yes" : "no" : "nobody knows");
  }
}

TEST_F(Periods, ANodeThatFallsIdleIsLookedAtInThatMomentOncePerPause) {
  busy_ = true;
  sickbayd_.state = "ALLOCATED";
  begin(std::string(kDeep) + "," + kSeldom);
  pass(hours(3));
  EXPECT_EQ(operations_.count("test"), 0);
  busy_ = false;
  told("IDLE");
  pass(seconds(20));
  EXPECT_EQ(operations_.count("test"), 1) << "the next tick may come when the next job is there";
  busy_ = true;
  told("ALLOCATED");
  pass(minutes(1));
  busy_ = false;
  told("IDLE");
  pass(minutes(1));
  EXPECT_LE(operations_.count("test"), 2);
  const auto tests = operations_.count("test");
  for (int i = 0; i < 5; ++i) {
    busy_ = true;
    told("ALLOCATED");
    pass(seconds(30));
    busy_ = false;
    told("IDLE");
    pass(seconds(30));
  }
  EXPECT_LE(operations_.count("test"), tests + 1) << "not after each job";
}

TEST_F(Periods, TheEndOfAShortJobIsNoticed) {
  sickbayd_.state = "IDLE";
  begin(kSeldom);
  pass(minutes(41));
  const auto before = operations_.count("read");
  busy_ = true;
  pass(seconds(75));
  busy_ = false;
  pass(seconds(10));
  EXPECT_EQ(operations_.count("read"), before + 1) << "what it left behind is what the next job meets";
  for (int step = 0; step < 6; ++step) {
    busy_ = true;
    pass(seconds(5));
    busy_ = false;
    pass(seconds(5));
  }
  EXPECT_LE(operations_.count("read"), before + 7);
}

}  // namespace
}  // namespace sickbay::agent
