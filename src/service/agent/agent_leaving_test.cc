// SPDX-License-Identifier: Apache-2.0
// What an agent shows programs on its node of the node's being drained: told by sickbayd, and once.
#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::HasSubstr;

class AgentLeavingTest : public AgentTest {
 protected:
  AgentLeavingTest() { shows_leaving_ = true; }
  void live() {
    start();
    agent_->start();
    pass(seconds(40));
  }
  // sickbayd says so with its next answer; null: it is not leaving.
  void tell(Json since) {
    sickbayd_.leaving = Json::object({{"since", std::move(since)}});
    pass(seconds(40));
  }
  std::string last_poll() const {
    for (auto it = sickbayd_.asked.rbegin(); it != sickbayd_.asked.rend(); ++it)
      if (it->starts_with("/v1/agent/tasks")) return *it;
    return "";
  }
};

TEST_F(AgentLeavingTest, ShowsWhatItIsToldAndSaysWhatItHas) {
  live();
  EXPECT_THAT(last_poll(), HasSubstr("&leaving=0"));
  tell(1'000'017);
  EXPECT_EQ(shown_, from_micros(1'000'017));
  EXPECT_THAT(last_poll(), HasSubstr("&leaving=1000017"));
  const int before = showings_;
  pass(minutes(5));
  EXPECT_EQ(showings_, before) << "nothing new";
  tell(Json());
  EXPECT_FALSE(shown_);
  EXPECT_THAT(last_poll(), HasSubstr("&leaving=0"));
}

TEST_F(AgentLeavingTest, AnotherAgentOfTheNodeGoesOnWithWhatIsShown) {
  live();
  tell(1'000'017);
  live();
  EXPECT_EQ(shown_, from_micros(1'000'017)) << "that it was started anew is no end of the drain";
  EXPECT_THAT(last_poll(), HasSubstr("&leaving=1000017"));
  tell(Json());
  EXPECT_FALSE(shown_);
}

TEST_F(AgentLeavingTest, WhatCannotBeShownIsTriedAgain) {
  live();
  cannot_show_ = true;
  tell(1'000'017);
  EXPECT_FALSE(shown_);
  EXPECT_THAT(last_poll(), HasSubstr("&leaving=1000017")) << "it was told, and need not be told again";
  const int polls = sickbayd_.polls;
  pass(minutes(5));
  EXPECT_LE(sickbayd_.polls, polls + 11) << "and nobody is hammered";
  cannot_show_ = false;
  pass(seconds(40));
  EXPECT_EQ(shown_, from_micros(1'000'017));
}

TEST_F(AgentLeavingTest, WhatStandsThereAndIsNoMomentGoesAtItsStart) {
  live();
  EXPECT_EQ(showings_, 1) << "nothing is shown: whatever is there is none of an agent's";
  shown_ = from_micros(1'000'017);
  start(false, false);
  agent_->start();
  EXPECT_FALSE(shown_) << "without sickbayd nobody would end it";
}

TEST_F(AgentLeavingTest, OneThatCannotShowItDoesNotSayThatItCan) {
  shows_leaving_ = false;
  live();
  EXPECT_EQ(last_poll().find("leaving"), std::string::npos);
  tell(1'000'017);
  EXPECT_EQ(showings_, 0);
}

}  // namespace
}  // namespace sickbay::agent
