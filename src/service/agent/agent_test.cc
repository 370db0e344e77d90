// SPDX-License-Identifier: Apache-2.0
// The agent in virtual time, over real rules, files and predicates; operations and sickbayd are played.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "service/agent/agent_test_parts.h"
#include "service/agent/config.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(AgentTest, TellsAFaultOnceAgainAfterAnHourAndWhenItIsGone) {
  start();
  agent_->start();
  pass(minutes(5));
  EXPECT_GE(operations_.count("read"), 4);
  EXPECT_TRUE(sickbayd_.told.empty());
  operations_.total = 4;
  pass(minutes(10));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  pass(hours(1));
  EXPECT_EQ(sickbayd_.told.size(), 2u) << "it stands";
  start();  // another agent on the same files
  agent_->start();
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.size(), 2u) << "a restart is no news";
  operations_.total = 8;
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.back(), "p2 ok none");
  EXPECT_EQ(sickbayd_.told.size(), 3u);
  for (std::size_t i = 1; i < sickbayd_.numbers.size(); ++i)
    EXPECT_EQ(sickbayd_.numbers[i], sickbayd_.numbers[i - 1] + 1);
}

TEST_F(AgentTest, AFaultThatIsThereAfterABootIsNews) {
  operations_.total = 4;
  start();
  agent_->start();
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  boot_id_ = "b2";
  start();
  agent_->start();
  pass(minutes(10));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 fault drain"));
}

TEST_F(AgentTest, WithoutSickbaydItRecordsAndDeliversLater) {
  sickbayd_.away = true;
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(3));
  operations_.total = 8;
  pass(minutes(3));
  EXPECT_TRUE(sickbayd_.told.empty());
  EXPECT_EQ(store_->waiting(10)->size(), 2u);
  EXPECT_LT(std::ranges::count(sickbayd_.asked, std::string("/v1/agent/hello")), 20) << "it does not hammer";
  sickbayd_.away = false;
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 ok none"));
  EXPECT_TRUE(store_->waiting(10)->empty());
}

TEST_F(AgentTest, WhatReachesSickbaydLateIsLookedAtAgainAtOnce) {
  sickbayd_.away = true;
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(12));
  sickbayd_.away = false;
  const TimePoint back = loop_.now();
  while (sickbayd_.told.size() < 2 && loop_.now() < back + minutes(70)) pass(seconds(1));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain late", "p2 fault drain"));
  EXPECT_LT(loop_.now() - back, minutes(2)) << "with the next delivery, not in an hour";
  pass(minutes(30));
  EXPECT_EQ(sickbayd_.told.size(), 2u) << "once";
  EXPECT_EQ(sickbayd_.hellos.back()["period"].as_string(), "always") << "no period of its own";
}

TEST_F(AgentTest, AnEndThatReachesSickbaydLateIsSaidAgain) {
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  sickbayd_.away = true;
  operations_.total = 8;
  pass(minutes(15));
  sickbayd_.away = false;
  pass(minutes(5));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 ok none late", "p2 ok none"))
      << "else the node stays out";
}

TEST_F(AgentTest, AFaultThatCameAndWentWhileSickbaydWasAwayIsToldAsGoneAtLast) {
  sickbayd_.away = true;
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(3));
  operations_.total = 8;
  pass(minutes(15));
  sickbayd_.away = false;
  pass(minutes(5));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain late", "p2 ok none late", "p2 ok none"));
}

TEST_F(AgentTest, FactsAreToldWithTheGreetingAndAgainWhenTheyChange) {
  start();
  agent_->start();
  pass(minutes(1));
  ASSERT_FALSE(sickbayd_.hellos.empty());
  EXPECT_FALSE(sickbayd_.hellos.back().has("facts")) << "nothing to tell";
  facts_ = Json::object({{"mount:/home", "nfs4"}});
  start();
  agent_->start();
  pass(minutes(10));
  const std::size_t first = sickbayd_.hellos.size();
  EXPECT_EQ(sickbayd_.hellos.back()["facts"].dump(), R"({"mount:/home":"nfs4"})");
  pass(minutes(10));
  EXPECT_EQ(sickbayd_.hellos.size(), first) << "nothing new";
  facts_ = Json::object({{"kernel", "6"}});
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.hellos.size(), first + 1);
  EXPECT_EQ(sickbayd_.hellos.back()["facts"].dump(), R"({"kernel":"6"})");
}

TEST_F(AgentTest, AnUnknownEndIsAFindingThatAsksForNothing) {
  operations_.unknown = true;
  start();
  agent_->start();
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none"));
  operations_.unknown = false;
  pass(minutes(3));
  operations_.unknown = true;
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none", "p0 unknown none")) << "known in between";
}

TEST_F(AgentTest, ACheckThatHangsDrainsWhereTheSpecificationSaysAfterHowManyRunsAcrossAgents) {
  use_rules(R"({"specification": "disk", "version": 1, "description": "d",
    "components": {"disk": {"description": "d"}},
    "characteristics": {"mode": {"type": "string", "description": "d"}, "used": {"type": "percent", "description": "d"},
                        "lost": {"type": "integer", "description": "d"}},
    "predicates": {"any": {"when": "mode != \"\"", "description": "d"}, "hangs": {"when": "lost >= 3", "description": "It hangs"},
                   "odd": {"when": "used / lost > 1", "description": "d"}},
    "operations": {"look": {"kind": "collect", "run": "look", "components": ["disk"],
                            "outputs": {"used": "used", "unknown_in_a_row": "lost"}, "description": "d"},
                   "out": {"kind": "critical", "run": "builtin:drain", "components": ["disk"], "description": "d"},
                   "tell": {"kind": "critical", "run": "builtin:notify", "components": ["disk"], "description": "d"}},
    "productions": {"p0": {"if": "any", "then": "look", "description": "d"}, "p1": {"if": "hangs", "then": "out", "description": "d"},
                    "p2": {"if": "odd", "then": "tell", "description": "d"}},
    "periods": {"always": {"description": "d", "every": "60s", "initial": {"mode": "quick"}}}})");
  operations_.answers["look"] = {OperationEnd::Result::ok, Json::object({{"used", 140}}), "", {}, {}};
  start();
  agent_->start();
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none"));
  EXPECT_THAT(sickbayd_.items[0]["text"].as_string(), HasSubstr("look gave a wrong 'used'"));
  start();
  agent_->start();
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p0 unknown none", "p1 fault drain"));
  operations_.answers["look"].outputs = Json::object({{"used", 14}});
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told,
              ElementsAre("p0 unknown none", "p1 fault drain", "p2 unknown none", "p1 ok none"));
  EXPECT_THAT(sickbayd_.items[2]["text"].as_string(), HasSubstr("odd could not be told"));
}

TEST_F(AgentTest, RepairsNeedPermissionAndTheirBudgetOutlivesTheAgent) {
  operations_.full = true;
  start(false);
  agent_->start();
  pass(minutes(5));
  EXPECT_EQ(operations_.count("tidy"), 0) << "the site has not permitted it";
  start(true);
  agent_->start();
  pass(Micros(seconds(65)));
  EXPECT_GE(operations_.count("tidy"), 1);
  start(true);
  agent_->start();
  pass(hours(2));
  EXPECT_EQ(operations_.count("tidy"), 2) << "two in 24 hours";
  pass(hours(24));
  EXPECT_GE(operations_.count("tidy"), 3);
}

// For an epilog, which Slurm goes by: what would take the node out, also where it was told before.
TEST_F(AgentTest, OnceSaysWhetherTheNodeIsSick) {
  const auto verdict = [&] {
    start();
    bool over = false;
    agent_->once(seconds(50), [&] { over = true; });
    pass(minutes(2));
    EXPECT_TRUE(over);
    return agent_->sick();
  };
  EXPECT_EQ(verdict(), "");
  operations_.total = 4;
  const std::string sick = "node/p2: A bank is lost: Take it out";
  EXPECT_EQ(verdict(), sick);
  EXPECT_EQ(verdict(), sick) << "it stands: no news, and sick";
  operations_.unknown = true;
  EXPECT_EQ(verdict(), "") << "nobody could tell";
}

// For the accounts of the site: each repair is told with what came of it, once, also to a sickbayd that was
// away.
TEST_F(AgentTest, RepairsAreToldWithTheirEnd) {
  operations_.full = true;
  operations_.answers["tidy"] = {
      OperationEnd::Result::fault, Json::object({{"clean", false}}), "12 files stay", {}, {}};
  sickbayd_.away = true;
  start(true);
  agent_->start();
  pass(minutes(5));
  ASSERT_EQ(operations_.count("tidy"), 2);
  EXPECT_TRUE(sickbayd_.repairs.empty());
  sickbayd_.away = false;
  pass(minutes(10));
  EXPECT_THAT(sickbayd_.repairs, ElementsAre("p3 tidy fault: 12 files stay", "p3 tidy fault: 12 files stay"));
  EXPECT_THAT(sickbayd_.told, testing::Not(testing::Contains(HasSubstr("p3 fault"))))
      << "an older sickbayd must not take it for a fault";
}

// The paper's f4 tells the user of the job on the node; so whoever is told must learn who that is.
TEST_F(AgentTest, AFaultNamesTheJobsOnTheNode) {
  jobs_ = Json::parse(R"([{"job": 17, "uid": 1001}, {"job": 18}])").value();
  operations_.total = 4;
  start();
  agent_->start();
  pass(minutes(2));
  ASSERT_FALSE(sickbayd_.items.empty());
  EXPECT_EQ(sickbayd_.items[0]["rule"].as_string(), "p2");
  EXPECT_EQ(sickbayd_.items[0]["jobs"].dump(), jobs_.dump());
}

TEST_F(AgentTest, ARepairThatWasCutShortIsToldAsUnknownByTheNextAgentOnce) {
  operations_.full = true;
  start(true);
  agent_->start();
  operations_.hang_in = "tidy";
  pass(minutes(2));
  ASSERT_EQ(operations_.count("tidy"), 1) << "it is under way";
  operations_.hang_in.clear();
  operations_.full = false;
  lives_ = "b1/1/1";
  start(true);  // a second one beside it
  agent_->start();
  pass(minutes(2));
  EXPECT_TRUE(sickbayd_.told.empty()) << "the first one is still at it";
  lives_ = "";
  start(true);
  agent_->start();
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 unknown none"));
  EXPECT_THAT(sickbayd_.repairs, ElementsAre("p3 tidy unknown: the agent ended before it did"));
  start(true);
  agent_->start();
  operations_.full = true;
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u);
  EXPECT_EQ(operations_.count("tidy"), 2) << "the one that was cut counts, the second ends well";
  pass(minutes(20));
  EXPECT_EQ(operations_.count("tidy"), 2);
  start(true);
  agent_->start();
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u) << "what ended is nobody's any more";
}

TEST_F(AgentTest, DoesWhatSickbaydOrdersAtOnce) {
  start();
  agent_->start();
  pass(seconds(3));
  operations_.total = 4;
  sickbayd_.order(7, "deep");
  pass(seconds(1));
  EXPECT_EQ(operations_.count("test"), 1);
  ASSERT_EQ(sickbayd_.results.size(), 1u);
  const Json& result = sickbayd_.results[0];
  EXPECT_EQ(result["task"].as_int(), 7);
  EXPECT_EQ(result["node"].as_string(), "n3");
  EXPECT_TRUE(result["whole"].as_bool());
  const Json& run = result["runs"].items().at(0);
  EXPECT_EQ(run["mode"].as_string(), "deep");
  EXPECT_EQ(run["findings"].size(), 1u);
  EXPECT_EQ(run["values"]["total"].as_int(), 4);
  EXPECT_EQ(run["productions"].size(), 4u);
  EXPECT_THAT(run["journal"].dump(), HasSubstr("A bank is lost"));
  EXPECT_THAT(sickbayd_.asked, testing::Contains(HasSubstr("after=7")));
}

TEST_F(AgentTest, ThousandsOfFindingsOfOneRunAreKeptTogetherAndBounded) {
  struct Counted : AgentStore {
    explicit Counted(AgentStore& s) : store(s) {}
    Status keep(std::vector<Json> findings) override {
      ++keeps;
      return store.keep(std::move(findings));
    }
    Result<std::vector<Json>> waiting(std::size_t most) override { return store.waiting(most); }
    Status delivered(std::int64_t n) override { return store.delivered(n); }
    Status update_state(const std::function<void(Json& state)>& change) override {
      ++updates;
      return store.update_state(change);
    }
    Status log(const Json& line) override { return store.log(line); }
    AgentStore& store;
    int keeps = 0, updates = 0;
  } counted(*store_);
  std::string productions;
  for (int i = 0; i < 3000; ++i)
    productions += fmt::format(R"(, "m{}": {{"if": "lost", "then": "tell", "description": "d"}})", i);
  std::string text = kRules;
  text.insert(text.find(R"("out": {)"),
              R"("tell": {"kind": "critical", "run": "builtin:notify", "description": "Tell"}, )");
  const std::string last = R"("p3": {"if": "fill", "then": "tidy", "description": "tidy"})";
  text.insert(text.find(last) + last.size(), productions);
  use_rules(text);
  AgentOptions options;
  options.node = "n3";
  options.boot_id = "b1";
  options.busy = [] { return false; };
  agent_ = std::make_unique<Agent>(loop_, counted, operations_, &sickbayd_, rules_, options);
  agent_->start();
  operations_.total = 4;
  pass(minutes(2));
  EXPECT_LE(counted.keeps, 8) << "one write for what fires together, not three thousand";
  EXPECT_LE(sickbayd_.told.size(), 502u);
  EXPECT_EQ(std::ranges::count(sickbayd_.told, std::string("too_many unknown none")), 1);
  EXPECT_EQ(std::ranges::count(sickbayd_.told, std::string("p2 fault drain")), 1);
}

TEST_F(AgentTest, TakesOtherRulesWhileItLives) {
  const auto changed = [&](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    text.replace(at, from.size(), to);
    const diagnose::SpecificationFile file{"node.json", text};
    auto read = diagnose::read_specifications({&file, 1}, {"n3", {}});
    EXPECT_TRUE(read) << read.error().message("test");
    return std::vector<std::shared_ptr<const diagnose::Rules>>{
        diagnose::compile(std::move(read->at(0)), compiler_).value()};
  };
  start();
  agent_->start();
  operations_.total = 4;
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  // While a run is under way: it ends by its rules.
  operations_.takes["read"] = seconds(50);
  operations_.answers["read"] = {
      OperationEnd::Result::ok, Json::object({{"total", 4}, {"full", false}}), "", {}, {}};
  const auto before = operations_.count("read");
  while (operations_.count("read") == before) pass(seconds(1));
  agent_->change_rules(changed(kRules, "total < 8", "total < 2"));
  pass(minutes(4));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain", "p2 ok none")) << "the new bound holds";
  EXPECT_NE(sickbayd_.hellos.front()["digests"].dump(), sickbayd_.hellos.back()["digests"].dump());
  operations_.answers["read"].outputs.set("total", 1);
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.back(), "p2 fault drain");
  agent_->change_rules(changed(kRules, R"("p2": {"if": "lost", "then": "out", "description": "out"}, )", ""));
  pass(minutes(3));
  EXPECT_EQ(sickbayd_.told.back(), "p2 ok none") << "the rule is gone";
}

TEST_F(AgentTest, RuleFilesThatAreRefusedAreAFindingOfTheNode) {
  start();
  agent_->start();
  agent_->tell_rules_refused("");
  agent_->tell_rules_refused("site.json:3:7: unknown key 'whne'");
  agent_->tell_rules_refused("site.json:3:7: unknown key 'whne'");
  pass(minutes(1));
  EXPECT_THAT(sickbayd_.told, ElementsAre("rules fault notify"));
  EXPECT_THAT(sickbayd_.items.back()["text"].as_string(), HasSubstr("site.json:3:7"));
  start();  // another agent: it stands still, and is no rule that is gone
  agent_->start();
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u);
  agent_->tell_rules_refused("");
  pass(seconds(10));
  EXPECT_THAT(sickbayd_.told, ElementsAre("rules fault notify", "rules ok none"));
}

TEST_F(AgentTest, ATaskThatNobodyWaitsForIsLeft) {
  operations_.takes["read"] = minutes(3);
  operations_.answers["read"] = {
      OperationEnd::Result::ok, Json::object({{"total", 8}, {"full", true}}), "", {}, {}};
  start(true);
  agent_->start();
  pass(seconds(5));
  sickbayd_.order(7, "deep", true);
  sickbayd_.order(8, "quick");
  pass(seconds(1));
  sickbayd_.ended = 7;
  sickbayd_.answer_poll(Json::array());
  pass(seconds(1));
  sickbayd_.ended = 8;
  sickbayd_.answer_poll(Json::array());
  pass(minutes(3) + seconds(20));
  EXPECT_EQ(operations_.count("tidy"), 0) << "what would have come next is not begun";
  for (const Json& result : sickbayd_.results) {
    EXPECT_EQ(result["task"].as_int(), 7);
    EXPECT_FALSE(result["whole"].as_bool());
  }
}

TEST_F(AgentTest, OnceDeliversAndEnds) {
  start();
  operations_.total = 4;
  bool done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(seconds(2));
  EXPECT_TRUE(done);
  EXPECT_THAT(sickbayd_.told, ElementsAre("p2 fault drain"));
  // sickbayd is away: it waits a second, not more.
  sickbayd_.away = true;
  operations_.total = 8;
  start();
  done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(Micros(1'500'000));
  EXPECT_TRUE(done);
  EXPECT_EQ(store_->waiting(10)->size(), 1u);
  // Nobody to tell at all.
  start(false, false);
  done = false;
  agent_->once(seconds(50), [&] { done = true; });
  pass(Micros(1000));
  EXPECT_TRUE(done);
}

TEST(Timetable, SpreadsTheNodes) {
  std::map<std::int64_t, int> buckets;
  for (int i = 0; i < 10'000; ++i) {
    const TimePoint next =
        next_tick("n" + std::to_string(i) + "/node", seconds(60), from_unix_seconds(1'000'000'000));
    const std::int64_t after = to_unix_seconds(next) - 1'000'000'000;
    ASSERT_GE(after, 0);
    ASSERT_LE(after, 60);
    ++buckets[after / 6];
  }
  for (const auto& [bucket, count] : buckets)
    if (bucket < 10) {
      EXPECT_NEAR(count, 1000, 150) << bucket;
    }
  const TimePoint tick = next_tick("n3", seconds(60), from_unix_seconds(1'000'000'000));
  EXPECT_EQ(next_tick("n3", seconds(60), tick), tick + seconds(60)) << "the next one, not the same";
}

TEST(AgentConfig, ReadsItsKeysAndNamesThePlaceOfOthers) {
  auto config = parse_config(R"({"controller": {"host": "head"}, "periods": {"every": {"node/day": "5m"}},
                                 "repair": {"allowed": true}})",
                             "agent.json");
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->controller.port, 6830);
  EXPECT_EQ(config->periods.every.at("node/day"), minutes(5));
  EXPECT_TRUE(config->repair.allowed);
  EXPECT_FALSE(parse_config("{}", "x")->repair.allowed);
  EXPECT_EQ(parse_config(R"({"contoller": {}})", "x").error().what,
            "x:1:15: unknown key 'contoller'; did you mean 'controller'?");
  EXPECT_THAT(parse_config(R"({"periods": {"every": {"a": 3}}})", "x").error().what,
              HasSubstr("'a' must be"));
}

}  // namespace
}  // namespace sickbay::agent
