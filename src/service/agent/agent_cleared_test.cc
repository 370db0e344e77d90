// SPDX-License-Identifier: Apache-2.0
// When a finding ends: by a whole examination of its mode that passed without it, and by nothing less.
#include "service/agent/agent_test_parts.h"

namespace sickbay::agent {
namespace {

using testing::ElementsAre;

// As the shipped drain_munged_still_down: a rule behind a verification behind a repair behind a look.
constexpr const char* kBehind = R"({"specification": "node", "version": 1, "description": "d",
  "components": {"munge": {"description": "d"}},
  "characteristics": {"mode": {"type": "string", "description": "d"}, "repair": {"type": "bool", "description": "d"},
    "up": {"type": "bool", "description": "d"}, "mended": {"type": "bool", "description": "d"}, "after": {"type": "bool", "description": "d"}},
  "predicates": {"any": {"when": "mode != \"\"", "description": "d"}, "down": {"when": "NOT up AND repair", "description": "d"},
    "tried": {"when": "mended", "description": "d"}, "still": {"when": "NOT after", "description": "It stays down"}},
  "operations": {"look": {"kind": "collect", "run": "look", "outputs": ["up"], "description": "d"},
    "mend": {"kind": "repair", "run": "mend", "components": ["munge"], "outputs": ["mended"], "description": "d", "budget": {"runs": 2, "window": "24h"}},
    "see": {"kind": "verify", "run": "see", "components": ["munge"], "outputs": ["after"], "description": "d"},
    "out": {"kind": "critical", "run": "builtin:drain", "description": "d"}},
  "productions": {"p0": {"if": "any", "then": "look", "description": "d"}, "p1": {"if": "down", "then": "mend", "description": "d"},
    "p2": {"if": "tried", "then": "see", "description": "d"}, "p3": {"if": "still", "then": "out", "description": "d"}},
  "periods": {"always": {"description": "d", "every": "60s", "initial": {"mode": "quick", "repair": true}}}})";

class Cleared : public AgentTest {
 public:
  Cleared() { use_rules(kBehind); }
  using AgentTest::agent_;
  using AgentTest::operations_;
  using AgentTest::pass;
  using AgentTest::rules_;
  using AgentTest::sickbayd_;
  using AgentTest::start;
  /// The rules with a part in another wording, read by another agent.
  void use_rules_with(const std::string& part, const std::string& instead) {
    std::string text = kBehind;
    text.replace(text.find(part), part.size(), instead);
    use_rules(text);
    start(true);
    agent_->start();
  }
  void say(const std::string& operation, const std::string& output, bool value) {
    operations_.answers[operation].result = OperationEnd::Result::ok;
    operations_.answers[operation].outputs = Json::object({{output, value}});
  }
  // Down, and down after the repair: p3 asks for a drain.
  void break_it() {
    say("look", "up", false);
    say("mend", "mended", true);
    say("see", "after", false);
    start(true);
    agent_->start();
    pass(Micros(seconds(60)));
    ASSERT_THAT(sickbayd_.told, ElementsAre("p3 fault drain"));
    sickbayd_.told.clear();
  }
};

TEST_F(Cleared, ARuleBehindAVerificationEndsWhenWhatLeadsToItIsWell) {
  break_it();
  say("look", "up", true);
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 ok none"));
  pass(hours(2));
  EXPECT_EQ(sickbayd_.told.size(), 1u) << "once";
  pass(hours(24));
  say("look", "up", false);
  pass(minutes(2));
  EXPECT_EQ(sickbayd_.told.back(), "p3 fault drain") << "a new occurrence is news at once";
}

// What befalls the drain that p3 asked for, by what comes after it.
TEST_F(Cleared, TheTable) {
  const struct {
    const char* what;
    std::function<void(Cleared&)> then;
    std::vector<std::string> told;
  } rows[] = {
      {"true again", [](Cleared&) {}, {}},
      {"false: the repair helped", [](Cleared& t) { t.say("see", "after", true); }, {"p3 ok none"}},
      {"not admissible, all that leads there is false",
       [](Cleared& t) { t.say("look", "up", true); },
       {"p3 ok none"}},

      {"the look is unknown", [](Cleared& t) { t.operations_.answers["look"] = {}; }, {"p0 unknown none"}},
      {"the repair is unknown", [](Cleared& t) { t.operations_.answers["mend"] = {}; }, {"p1 unknown none"}},
      {"the verification is unknown",
       [](Cleared& t) { t.operations_.answers["see"] = {}; },
       {"p2 unknown none"}},
      {"the repair failed: nobody verified", [](Cleared& t) { t.say("mend", "mended", false); }, {}},
      {"the budget of the repair is used up",
       [](Cleared& t) {
         t.pass(minutes(5));
         t.say("see", "after", true);
       },
       {}},
      {"repairs are permitted no more, and one is needed",
       [](Cleared& t) {
         t.start(false);
         t.agent_->start();
       },
       {}},
      {"permitted no more, and none is needed",
       [](Cleared& t) {
         t.say("look", "up", true);
         t.start(false);
         t.agent_->start();
       },
       {"p3 ok none"}},

      {"the run is cut",
       [](Cleared& t) {
         t.say("look", "up", true);
         t.operations_.takes["look"] = seconds(3);
         t.start(true);
         t.agent_->once(seconds(1), [] {});
       },
       {}},
      {"another mode finds it well",
       [](Cleared& t) {
         t.operations_.takes["look"] = hours(1);  // the timetable's run does not end
         t.pass(minutes(1));
         t.operations_.takes.clear();
         t.say("look", "up", true);
         t.start(true);
         t.agent_->start();
         t.pass(seconds(3));
         t.sickbayd_.order(1, "deep");
         t.pass(Micros(1000));
         t.start(true);  // before the next tick
       },
       {}},
      {"the rule is gone",
       [](Cleared& t) {
         t.use_rules_with(R"(, "p3": {"if": "still", "then": "out", "description": "d"})", "");
       },
       {"p3 ok none"}},
      {"the rule only looks now",
       [](Cleared& t) {
         t.use_rules_with(R"("if": "still", "then": "out")", R"("if": "still", "then": "look")");
       },
       {"p3 ok none"}},
      {"the whole specification is gone",
       [](Cleared& t) { t.use_rules_with(R"("specification": "node")", R"("specification": "other")"); },
       {"p3 ok none"}},
      {"no rule is left at all: a folder that is missing",
       [](Cleared& t) {
         t.rules_.clear();
         t.start(true);
         t.agent_->start();
       },
       {}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    new_node();
    use_rules(kBehind);
    break_it();
    row.then(*this);
    pass(minutes(2));
    std::erase(sickbayd_.told, "p3 fault drain");
    EXPECT_EQ(sickbayd_.told, row.told);
  }
}

// Published of soperator as #1316 (doc/peers.md): what was said of a machine kept the one in its place out.
TEST_F(Cleared, WhatStandsByAnAgentThatLostItsStateEndsToo) {
  const auto on_a_new_disk = [this](const char* rule, const char* mode) {
    new_node();
    sickbayd_.standing = Json::array({Json::object({{"rule", rule}, {"mode", mode}})});
    say("look", "up", true);
    start(true);
    agent_->start();
  };
  on_a_new_disk("node/p3", "quick");
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 ok none"));
  pass(hours(24));
  EXPECT_EQ(sickbayd_.told.size(), 1u) << "once";

  on_a_new_disk("node/p3", "quick");
  say("look", "up", false);
  say("mend", "mended", true);
  say("see", "after", false);
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 fault drain")) << "the new one has it as well";

  on_a_new_disk("node/p9", "quick");
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p9 ok none")) << "it has no such rule";

  const std::pair<const char*, const char*> no_run_ends[] = {
      {"agent/rules", "quick"}, {"nothing", "quick"}, {"node/p3", "hasty"}};
  for (const auto& [rule, mode] : no_run_ends) {
    on_a_new_disk(rule, mode);
    pass(minutes(2));
    EXPECT_THAT(sickbayd_.told, testing::IsEmpty()) << rule;
  }
}

// Only a run as deep as the one that found it: here it is asked for, for the timetable has quick ones alone.
TEST_F(Cleared, WhatADeepRunFoundEndsByADeepOneThoughTheStateWasLost) {
  sickbayd_.standing = Json::array({Json::object({{"rule", "node/p3"}, {"mode", "deep"}})});
  say("look", "up", true);
  operations_.takes["look"] = seconds(20);
  start(true);
  agent_->start();
  pass(seconds(15));
  EXPECT_THAT(sickbayd_.told, testing::IsEmpty());
  pass(minutes(3));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 ok none"));
  EXPECT_EQ(sickbayd_.items.back()["mode"].as_string(), "deep");
}

// What it knows itself it need not be told, and an end that is on its way is no news.
TEST_F(Cleared, AnAgentThatHasItsStateTakesNothingOver) {
  break_it();
  sickbayd_.standing = Json::array({Json::object({{"rule", "node/p3"}, {"mode", "deep"}})});
  start(true);
  agent_->start();
  pass(minutes(2));
  say("look", "up", true);
  pass(minutes(2));
  EXPECT_THAT(sickbayd_.told, ElementsAre("p3 ok none")) << "by a quick run, as it was found";
}

}  // namespace
}  // namespace sickbay::agent
