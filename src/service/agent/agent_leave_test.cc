// SPDX-License-Identifier: Apache-2.0
// Leave for active checks, as an agent asks for it, waits and uses it.
#include <fmt/format.h>

#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A quick look each minute, and an active check in the deep mode each hour.  `check` is what the check says
// of itself, `quick` when it runs besides.
std::string rules(const std::string& check = R"("needs_idle": true)", const std::string& when = "deep",
                  const std::string& node = "any", const std::string& hours = "") {
  return fmt::format(R"({{"specification": "s", "version": 1, "description": "d",
    "characteristics": {{"mode": {{"type": "string", "description": "d"}}, "seen": {{"type": "bool", "description": "d"}},
      "slow": {{"type": "bool", "description": "d"}}}},
    "predicates": {{"always": {{"when": "true", "description": "d"}}, "deep": {{"when": "mode == \"deep\"", "description": "d"}},
      "found": {{"when": "seen", "description": "d"}}}},
    "operations": {{"look": {{"kind": "collect", "run": "look", "outputs": ["seen"], "description": "d"}},
      "burn": {{"kind": "test", "run": "burn", "outputs": ["slow"], "timeout": "1h", {0}, "description": "d"}}}},
    "productions": {{"p0": {{"if": "always", "then": "look", "description": "d"}},
      "p1": {{"if": "{1}", "then": "burn", "description": "d"}}}},
    "periods": {{"deep": {{"description": "d", "node": "{2}", {3}"every": "1h", "initial": {{"mode": "deep"}}}},
      "always": {{"description": "d", "every": "60s", "initial": {{"mode": "quick"}}}}}}}})",
                     check, when, node, hours);
}

class Leave : public AgentTest {
 protected:
  Leave() {
    operations_.answers["look"].result = OperationEnd::Result::ok;
    operations_.answers["look"].outputs = Json::object({{"seen", true}});
    operations_.answers["burn"].result = OperationEnd::Result::ok;
    operations_.answers["burn"].outputs = Json::object({{"slow", false}});
    operations_.takes["burn"] = minutes(2);
    sickbayd_.state = "IDLE";
  }
  void live(const std::string& text = rules()) {
    use_rules(text);
    start();
    agent_->start();
  }
  static Json told(Micros leave) {
    return Json::object({{"at_once", 16}, {"holding", 16}, {"waiting", 41}, {"leave_us", leave.count()}});
  }
  void give_leave() {
    ASSERT_TRUE(sickbayd_.poll);
    sickbayd_.active = told(minutes(5));
    sickbayd_.answer_poll(Json::array());
    sickbayd_.active = told(Micros(0));  // but for what is in use
  }
  /// Its word on active checks in the last poll.
  std::string word() const {
    for (auto it = sickbayd_.asked.rbegin(); it != sickbayd_.asked.rend(); ++it)
      if (const std::size_t at = it->find("&active="); at != std::string::npos) return it->substr(at + 8);
    return "";
  }
  void pass_until_it_waits() {
    for (int i = 0; i < 3 * 60 && word() != "waits"; ++i) pass(minutes(1));
    ASSERT_EQ(word(), "waits");
  }
};

TEST_F(Leave, AnActiveCheckWaitsForItAndQuickLooksGoOn) {
  sickbayd_.active = told(Micros(0));
  live();
  pass_until_it_waits();
  operations_.ran.clear();
  pass(minutes(30));
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_GE(operations_.count("look"), 29);
  EXPECT_THAT(sickbayd_.told, IsEmpty()) << "that it waits is no fault";
  give_leave();
  pass(seconds(5));
  EXPECT_EQ(operations_.count("burn"), 1);
  EXPECT_EQ(word(), "holds");
  pass(minutes(3));
  EXPECT_EQ(word(), "none") << "it gives it back";
  EXPECT_EQ(operations_.count("burn"), 1);
}

TEST_F(Leave, IsNotNeededUnderAnOlderSickbaydOrWithoutABound) {
  for (const char* case_of : {"older", "no bound"}) {
    new_node();
    operations_.answers["look"].result = operations_.answers["burn"].result = OperationEnd::Result::ok;
    sickbayd_.active = std::string(case_of) == "older" ? Json() : Json::object({{"at_once", 0}});
    live();
    pass(hours(3));
    EXPECT_GE(operations_.count("burn"), 2) << case_of;
  }
}

TEST_F(Leave, WithoutSickbaydNoneBeginsAndQuickLooksGoOn) {
  // (One that no job would feel: the other kind needs sickbayd's word that the node is idle, too.)
  sickbayd_.active = told(Micros(0));
  live(rules(R"("active": true)"));
  pass(minutes(2));
  sickbayd_.away = true;
  pass(hours(3));
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_GE(operations_.count("look"), 100);
  sickbayd_.away = false;
  sickbayd_.active = told(minutes(5));
  pass(minutes(10));
  EXPECT_GE(operations_.count("burn"), 1);
}

TEST_F(Leave, OfAnAgentThatNamesNoSickbaydThereIsNone) {
  use_rules(rules(R"("active": true)"));
  start(false, false);
  agent_->start();
  pass(hours(3));
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_GE(operations_.count("look"), 100);
  const auto waiting = store_->waiting(10);
  ASSERT_TRUE(waiting);
  ASSERT_FALSE(waiting->empty());
  EXPECT_THAT(waiting->front()["text"].as_string(), HasSubstr("no sickbayd is named here"));
}

TEST_F(Leave, ThatIsNotRenewedEndsWhatRunsByIt) {
  sickbayd_.active = told(Micros(0));
  operations_.takes.erase("burn");
  operations_.hang_in = "burn";
  live(rules(R"("active": true)"));
  pass_until_it_waits();
  give_leave();
  pass(minutes(8));
  EXPECT_EQ(word(), "holds") << "it is renewed with each poll";
  EXPECT_THAT(sickbayd_.told, IsEmpty());
  sickbayd_.away = true;
  pass(minutes(5) + seconds(1));
  sickbayd_.away = false;
  sickbayd_.active = told(Micros(0));
  pass(minutes(3));
  ASSERT_THAT(sickbayd_.told, ElementsAre("p1 unknown none"));
  EXPECT_THAT(sickbayd_.items[0]["text"].as_string(),
              HasSubstr("ended before its time: sickbayd has not been heard of late"));
}

TEST_F(Leave, IsCountedFromTheQuestion) {
  sickbayd_.active = told(Micros(0));
  sickbayd_.renews = false;
  operations_.takes.erase("burn");
  operations_.hang_in = "burn";
  live(rules(R"("active": true)"));
  pass_until_it_waits();
  const auto answer_after_20s = [this](Micros leave) {
    for (const int polls = sickbayd_.polls; sickbayd_.polls == polls;) pass(seconds(1));
    pass(seconds(20));
    sickbayd_.active = told(leave);
    sickbayd_.answer_poll(Json::array());
    sickbayd_.active = told(Micros(0));
  };
  answer_after_20s(seconds(15));
  EXPECT_EQ(operations_.count("burn"), 0) << "it was over when it came";
  answer_after_20s(seconds(28));
  EXPECT_EQ(operations_.count("burn"), 1);
  EXPECT_THAT(sickbayd_.told, IsEmpty());
  pass(seconds(12));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p1 unknown none"));
  EXPECT_THAT(sickbayd_.items.at(0)["text"].as_string(), HasSubstr("the leave that sickbayd gave is over"));
}

TEST_F(Leave, AJobThatComesMeanwhileKeepsItsPlaceAndLeaveIsGivenBackUnused) {
  sickbayd_.active = told(Micros(0));
  live(rules(R"("needs_idle": true)", "deep", "idle"));
  pass_until_it_waits();
  busy_ = true;
  pass(minutes(1));
  EXPECT_EQ(word(), "later");
  give_leave();
  pass(seconds(5));
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_EQ(word(), "later");
  busy_ = false;
  sickbayd_.active = told(Micros(0));
  pass(minutes(1));
  EXPECT_EQ(word(), "waits");
  give_leave();
  pass(seconds(5));
  EXPECT_EQ(operations_.count("burn"), 1);
}

TEST_F(Leave, OnABusyNodeARunForAnyNodeWaitsForNothing) {
  sickbayd_.active = told(Micros(0));
  sickbayd_.state = "ALLOCATED";
  busy_ = true;
  live();
  pass(hours(2));
  EXPECT_EQ(word(), "none") << "stress would not run beside the job in any case";
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_GE(operations_.count("look"), 110);
}

TEST_F(Leave, HoursThatAreOverAreNotMadeUpFor) {
  sickbayd_.active = told(Micros(0));
  const auto minute = [](TimePoint at) {
    const auto day = time_of_day(at) % (24 * 60);
    return fmt::format("{:02}:{:02}", day.count() / 60, day.count() % 60);
  };
  // Two hours from now on.
  const std::string hours_of =
      fmt::format(R"("from": "{}", "to": "{}", )", minute(loop_.now()), minute(loop_.now() + hours(2)));
  live(rules(R"("needs_idle": true)", "deep", "any", hours_of));
  pass(hours(1) + minutes(30));
  EXPECT_EQ(word(), "waits");
  pass(hours(1));
  EXPECT_EQ(word(), "none");
  sickbayd_.active = told(minutes(5));
  pass(minutes(30));
  EXPECT_EQ(operations_.count("burn"), 0) << "by day";
}

TEST_F(Leave, AQuickLookThatComesToAnActiveCheckDoesNotWaitAndTheCheckIsMadeUpFor) {
  sickbayd_.active = told(Micros(0));
  live(rules(R"("active": true)", "found"));
  pass(minutes(10));
  EXPECT_GE(operations_.count("look"), 9);
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_THAT(sickbayd_.told, testing::Each(testing::StrEq("p1 unknown none")));
  pass(hours(1));  // then it is told again
  ASSERT_FALSE(sickbayd_.items.empty());
  EXPECT_THAT(
      sickbayd_.items.back()["text"].as_string(),
      HasSubstr("active check not permitted: this node waits for its turn: 16 of 16 nodes have leave"));
  EXPECT_EQ(word(), "waits");
  give_leave();
  pass(seconds(5));
  EXPECT_EQ(operations_.count("burn"), 1);
}

TEST_F(Leave, AnOrderOfAScriptWaitsAndOneWithLeaveDoesNot) {
  sickbayd_.active = told(Micros(0));
  live();
  pass(seconds(10));
  operations_.ran.clear();
  sickbayd_.order(1, "deep");
  pass(minutes(1));
  EXPECT_EQ(word(), "ordered");
  EXPECT_EQ(operations_.count("burn"), 0);
  EXPECT_THAT(sickbayd_.results, IsEmpty());
  sickbayd_.order(2, "quick");
  pass(seconds(5));
  EXPECT_EQ(sickbayd_.results.size(), 1u) << "what is quick does not wait behind it";
  ASSERT_TRUE(sickbayd_.poll);
  sickbayd_.active = told(minutes(5));
  sickbayd_.answer_poll(Json::array({Json::object(
      {{"task", 3}, {"kind", "diagnose"}, {"mode", "deep"}, {"repair", false}, {"leave", true}})}));
  pass(minutes(1));
  EXPECT_GE(operations_.count("burn"), 1);
  EXPECT_EQ(word(), "holds");
  pass(minutes(5));
  ASSERT_EQ(sickbayd_.results.size(), 3u) << "and the one that waited runs by the same leave";
  for (const Json& result : sickbayd_.results) EXPECT_TRUE(result["whole"].as_bool()) << result.dump();
}

TEST_F(Leave, AnOrderThatWaitsCanBeLeftAndBeginsAnewWithOtherRules) {
  sickbayd_.active = told(Micros(0));
  live();
  pass(seconds(10));
  sickbayd_.order(1, "deep");
  pass(seconds(5));
  sickbayd_.order(2, "deep");
  pass(seconds(5));
  agent_->change_rules(rules_);
  sickbayd_.ended = 1;
  pass(minutes(1));
  EXPECT_EQ(word(), "ordered");
  give_leave();
  pass(minutes(5));
  ASSERT_EQ(sickbayd_.results.size(), 1u);
  EXPECT_EQ(sickbayd_.results[0]["task"].as_int(), 2);
  EXPECT_TRUE(sickbayd_.results[0]["whole"].as_bool());
}

TEST_F(Leave, OnceMakesNoActiveCheck) {
  sickbayd_.active = told(minutes(5));
  use_rules(rules(R"("active": true)", "found"));
  start();
  bool over = false;
  agent_->once(seconds(50), [&] { over = true; });
  pass(seconds(10));
  EXPECT_TRUE(over);
  EXPECT_EQ(operations_.count("look"), 1);
  EXPECT_EQ(operations_.count("burn"), 0) << "a prolog runs on all nodes of a job at once";
}

TEST_F(Leave, OneTurnIsForThoseWhoWaited) {
  // A period that wants it again before its run is over must not keep it.
  sickbayd_.active = told(Micros(0));
  std::string text = rules();
  text.replace(text.find("\"every\": \"1h\""), 13, "\"every\": \"60s\"");
  live(text);
  pass_until_it_waits();
  give_leave();
  pass(minutes(3));
  EXPECT_EQ(operations_.count("burn"), 1);
  EXPECT_EQ(word(), "waits") << "for the next turn, behind others";
}

}  // namespace
}  // namespace sickbay::agent
