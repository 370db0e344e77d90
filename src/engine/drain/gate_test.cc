// SPDX-License-Identifier: Apache-2.0
// Gates: who boots or is put back by somebody else gets no job before he was examined.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>

#include "engine/drain/drain_world.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using namespace std::chrono_literals;

const Json kWell = Json::object({{"passed", true}, {"whole", true}, {"faults", 0}, {"unknown", 0}});
const Json kNotWhole = Json::object({{"passed", false}, {"whole", false}, {"faults", 0}});
const Json kTold = Json::object({{"passed", false}, {"whole", true}, {"faults", 1}, {"drains", 0}});
const Json kSick = Json::object({{"passed", false},
                                 {"whole", true},
                                 {"faults", 1},
                                 {"drains", 1},
                                 {"sick", "node/disk: disk is broken"}});

struct GateWorld : World {
  explicit GateWorld(bool at_boot = true, bool at_return = true) {
    policy.gate_boot = at_boot;
    policy.gate_return = at_return;
    gates = true;
    check_result = kWell;
    nodes("n[1-40]", "IDLE");
    for (int i = 1; i <= 40; ++i) hello("n" + std::to_string(i), "b1");
    EXPECT_THAT(did, IsEmpty()) << "what was there before is let be";
  }
  void boots(const std::string& node) {
    now += 1min;
    hello(node, "boot at " + std::to_string(to_micros(now)));
  }
  // As an operator does it.
  void out_and_back(const std::string& node, const std::string& shown = "IDLE+DRAIN") {
    nodes(node, shown);
    now += 1h;
    nodes(node, "IDLE");
  }
  std::string reason() const {  // of the last drain
    std::string text;
    for (const Event& event : log)
      if (event.kind == kIntent && event.body["verb"].as_string() == "drain")
        text = event.body["args"]["reason"].as_string();
    return text;
  }
  std::string gate(const std::string& node) const { return view(node)["gate"].as_string(); }
  // A replay of the journal gives the same state.
  void expect_replayed() const {
    cluster::Cluster again;
    State replayed;
    for (const Event& event : log) {
      Event raised = event;
      raise(replayed, raised);
      cluster::apply(again, raised);
      (void)apply(replayed, again.view, raised);
    }
    EXPECT_EQ(canonical_text(replayed), canonical_text(state));
  }
};

TEST(Gate, ANodeThatBootsIsOutUntilItsQuickDiagnosisHasPassed) {
  GateWorld w;
  w.holds = {"diagnose n3"};
  w.boots("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  EXPECT_EQ(w.held["diagnose n3"].args["mode"].as_string(), "quick");
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.reason(), StartsWith("sickbay:gate gate: it has booted"));
  EXPECT_THAT(w.gate("n3"), HasSubstr("let in when its quick diagnosis has passed"));
  w.answer("diagnose n3", kWell);
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "undrain n3")) << "at once";
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_EQ(w.gate("n3"), "");
  w.pass(24h);
  EXPECT_EQ(w.did.size(), 3u);
  w.expect_replayed();
}

TEST(Gate, SlurmsBootTimeTellsABootAsWellAndBothAreOne) {
  GateWorld w;
  w.holds = {"diagnose n3"};
  w.now += 1min;
  w.boot = w.now - 30s;
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  w.hello("n3", "b2");
  EXPECT_EQ(w.did.size(), 2u) << "the same boot";
  w.answer("diagnose n3", kWell);
  EXPECT_EQ(w.stands("n3"), "in");
  // The other way round: Slurm shows the boot when the agent's word of it is settled.
  w.holds.clear();
  w.did.clear();
  w.boots("n4");
  EXPECT_THAT(w.did, ElementsAre("diagnose n4", "drain n4", "undrain n4"));
  w.boot = w.now - 10s;
  w.now += 30s;
  w.nodes("n4", "IDLE");
  EXPECT_EQ(w.did.size(), 3u);
  EXPECT_EQ(w.stands("n4"), "in");
  w.expect_replayed();
}

TEST(Gate, ANodeThatSomebodyPutsBackIsExaminedFirst) {
  GateWorld w;
  w.holds = {"diagnose n3", "diagnose n4"};
  w.out_and_back("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  EXPECT_THAT(w.reason(), StartsWith("sickbay:gate gate: it was put back"));
  w.answer("diagnose n3", kWell);
  EXPECT_EQ(w.stands("n3"), "in");
  w.out_and_back("n4", "DOWN");
  EXPECT_EQ(w.stands("n4"), "out") << "from DOWN likewise";
  w.expect_replayed();
}

TEST(Gate, OnlyWhatTheSiteAsksForIsShut) {
  GateWorld boot_only(true, false), return_only(false, true), none(false, false);
  for (GateWorld* w : {&boot_only, &return_only, &none}) {
    w->boots("n3");
    w->out_and_back("n4");
    w->expect_replayed();
  }
  EXPECT_THAT(boot_only.did, ElementsAre("diagnose n3", "drain n3", "undrain n3"));
  EXPECT_THAT(return_only.did, ElementsAre("diagnose n4", "drain n4", "undrain n4"));
  EXPECT_THAT(none.did, IsEmpty());
  EXPECT_EQ(none.stands("n3"), "in");
  World unwished;  // nobody is told of boots: nothing is noted, either
  unwished.nodes("n[1-40]", "IDLE");
  unwished.hello("n3", "b1");
  unwished.hello("n3", "b2");
  unwished.nodes("n4", "IDLE+DRAIN");
  unwished.nodes("n4", "IDLE");
  EXPECT_TRUE(unwished.state.nodes.empty());
}

TEST(Gate, WhatWePutBackNeedsNone) {
  GateWorld w;
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(601s);
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
  w.pass(1h);
  EXPECT_EQ(w.did.size(), 2u);
  w.expect_replayed();
}

TEST(Gate, NobodyArguesWithWhoResumesANodeOfOurs) {
  GateWorld w;
  w.finding(1, "n3", "disk");
  w.now += 1min;
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
  // Nor where it is the gate that he opens.
  w.holds = {"diagnose n4"};
  w.boots("n4");
  EXPECT_EQ(w.stands("n4"), "out");
  w.now += 1min;
  w.nodes("n4", "IDLE");
  EXPECT_EQ(w.stands("n4"), "in");
  w.answer("diagnose n4", kSick);
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "diagnose n4", "drain n4"));
  w.expect_replayed();
}

TEST(Gate, ADrainOfSomebodyElseIsLetBe) {
  GateWorld w;
  w.nodes("n3", "IDLE+DRAIN");
  w.holds = {"diagnose n3"};
  w.boots("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3")) << "it is examined, and not drained";
  EXPECT_EQ(w.stands("n3"), "foreign");
  w.answer("diagnose n3", kWell);
  w.now += 1min;
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3")) << "it has passed a minute ago";
  w.out_and_back("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "diagnose n3", "drain n3"));
  w.expect_replayed();
}

TEST(Gate, ANodeThatIsDownIsExaminedWhileItIs) {
  GateWorld w;
  w.nodes("n3", "DOWN");
  w.boots("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3")) << "who is down gets no jobs anyhow";
  w.now += 20s;
  w.boot = w.now - 1min;
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.did.size(), 1u) << "it is back, and was examined since it booted";
  EXPECT_EQ(w.stands("n3"), "in");
  w.expect_replayed();
}

TEST(Gate, ABootWhileSickbaydWasAwayIsNoticed) {
  GateWorld w;
  w.expect_replayed();
  w.now += 1h;  // (what it is told first after its start)
  w.boot = w.now - 20min;
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "undrain n3"));
}

TEST(Gate, ABootDuringItsExaminationIsExaminedAsWell) {
  GateWorld w;
  w.holds = {"diagnose n3"};
  w.boots("n3");
  w.boots("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  w.answer("diagnose n3", kWell);  // by the agent of the new boot, which was given it anew
  EXPECT_EQ(w.stands("n3"), "in");
  w.boots("n3");
  w.answer("diagnose n3", kSick);
  EXPECT_EQ(w.stands("n3"), "out");
  w.boots("n3");
  w.answer("diagnose n3", kWell);
  EXPECT_EQ(w.stands("n3"), "in") << "what it was before it booted is no more";
  w.expect_replayed();
}

TEST(Gate, WhatIsSickStaysOutWithTheReasonOfTheFinding) {
  for (const bool finding_first : {false, true}) {
    GateWorld w;
    w.holds = {"diagnose n3"};
    w.boots("n3");
    if (finding_first) w.finding(7, "n3", "disk");
    w.answer("diagnose n3", kSick);
    if (!finding_first) w.finding(7, "n3", "disk");
    EXPECT_EQ(w.stands("n3"), "out");
    EXPECT_EQ(w.reason(), "sickbay:f7 node/disk: disk is broken");
    EXPECT_FALSE(w.state.nodes["n3"].reasons.contains("gate"));
    EXPECT_EQ(std::ranges::count(w.did, "undrain n3"), 0) << "not for a moment";
    w.finding(8, "n3", "disk", "ok", "none");
    w.pass(601s);
    EXPECT_EQ(w.stands("n3"), "in");
    w.expect_replayed();
  }
}

// An agent tells what stands once an hour: its finding may not come for long.
TEST(Gate, WhatIsSickAndNoFindingComesSaysWhatItIs) {
  GateWorld w;
  w.check_result = kSick;
  w.boots("n3");
  w.pass(61s);
  EXPECT_EQ(w.reason(), "sickbay:gate gate: node/disk: disk is broken");
  EXPECT_THAT(w.gate("n3"), HasSubstr("examined again"));
  w.pass(10min);
  EXPECT_EQ(std::ranges::count(w.did, "diagnose n3"), 1) << "and is not let in for want of an answer";
  w.check_result = kWell;
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "in");
  w.expect_replayed();
}

TEST(Gate, AFaultThatTakesNoNodeOutLetsItIn) {
  GateWorld w;
  w.check_result = kTold;
  w.boots("n3");
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Gate, ASilentAgentsNodeIsLetInAndThatIsSaid) {
  GateWorld w;
  w.refusals["diagnose n3"] = "no agent on n3 has done the diagnosis";
  w.boots("n3");
  EXPECT_EQ(w.stands("n3"), "out");
  w.pass(299s);
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.gate("n3"), HasSubstr("its agent does not answer"));
  EXPECT_EQ(std::ranges::count(w.did, "diagnose n3"), 5) << "asked again each minute";
  w.pass(2s);
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_THAT(w.gate("n3"), HasSubstr("without an examination"));
  // One that never answers is no other, and neither is one that cannot make the whole examination.
  w.holds = {"diagnose n4"};
  w.boots("n4");
  w.check_result = kNotWhole;
  w.boots("n5");
  w.pass(301s);
  EXPECT_EQ(w.stands("n4"), "in");
  EXPECT_EQ(w.stands("n5"), "in");
  w.answer("diagnose n4", kSick);
  EXPECT_EQ(w.stands("n4"), "in") << "its finding will say so";
  w.expect_replayed();
}

TEST(Gate, ASilentAgentsNodeIsKeptWhereTheSiteWantsThat) {
  GateWorld w;
  w.policy.gate_keep = true;
  w.refusals["diagnose n3"] = "no agent on n3 has done the diagnosis";
  w.boots("n3");
  w.pass(3h);
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.gate("n3"), HasSubstr("kept out"));
  EXPECT_LT(std::ranges::count(w.did, "diagnose n3"), 10);
  w.refusals.clear();
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_EQ(w.gate("n3"), "");
  w.expect_replayed();
}

TEST(Gate, WhereNobodyListensToAgentsNobodyWaitsForThem) {
  GateWorld w;
  w.policy.examine = false;
  w.policy.gate_keep = true;
  w.boots("n3");
  EXPECT_THAT(w.did, IsEmpty());
  EXPECT_EQ(w.stands("n3"), "in");
}

// An older agent's diagnosis, as an older sickbayd would have told it, and one that tells no boot.
TEST(Gate, OlderWordsAreUnderstood) {
  GateWorld w;
  w.check_result = Json::object({{"passed", true}, {"faults", 0}, {"unknown", 0}});
  w.boots("n3");
  EXPECT_EQ(w.stands("n3"), "in");
  w.did.clear();
  w.say(node_subject("n4"), kAgentSeen, Json::object({{"version", "0.1"}}));
  w.say(node_subject("n4"), kAgentSeen, Json::object({{"version", "0.2"}}));
  EXPECT_THAT(w.did, IsEmpty());
}

TEST(Gate, TheBreakerHoldsForGatesToo) {
  GateWorld w;
  for (int i = 1; i <= 40; ++i) w.holds.insert("diagnose n" + std::to_string(i));
  for (int i = 1; i <= 4; ++i) w.boots("n" + std::to_string(i));
  EXPECT_EQ(std::ranges::count_if(w.did, [](const auto& did) { return did.starts_with("drain"); }), 2)
      << "5 % of 40 in an hour";
  EXPECT_EQ(w.stands("n3"), "waits");
  w.answer("diagnose n3", kWell);
  EXPECT_EQ(w.stands("n3"), "in") << "examined all the same, and it waits no more";
  EXPECT_FALSE(w.cluster.breaker.waits("node:n3"));
  w.answer("diagnose n4", kSick);
  w.finding(7, "n4", "disk");
  EXPECT_EQ(w.stands("n4"), "waits");
  w.expect_replayed();
}

TEST(Gate, ObservingItIsOnlyShown) {
  GateWorld w;
  w.policy.act = false;
  w.holds = {"diagnose n3"};
  w.boots("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3"));
  EXPECT_EQ(w.stands("n3"), "observed");
  w.answer("diagnose n3", kWell);
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Gate, UndoOpensItAndItRests) {
  GateWorld w;
  w.holds = {"diagnose n3"};
  w.boots("n3");
  w.say("cluster", kUndoDrains,
        Json::object({{"by", "root"},
                      {"nodes", "n3"},
                      {"rule", "gate"},
                      {"rest", "nodes"},
                      {"rest_until", to_micros(w.now + 24h)}}));
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "undrain n3"));
  w.answer("diagnose n3", kWell);
  w.boots("n3");
  EXPECT_EQ(w.stands("n3"), "observed");
  w.expect_replayed();
}

// Whatever happens in whatever order: a drain of somebody else is never touched, a replay agrees, and in the
// end, with agents that answer, nobody is left behind.
TEST(Gate, NobodyIsForgotten) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    GateWorld w(seed % 3 != 0, seed % 3 != 1);
    w.policy.gate_keep = seed % 2 == 0;
    std::set<std::string> foreign;
    for (int step = 0; step < 80; ++step) {
      const std::string node = "n" + std::to_string(1 + random() % 5);
      w.did.clear();
      switch (random() % 7) {
        case 0:
          w.boots(node);
          break;
        case 1:
          if (w.stands(node) != "in" && w.stands(node) != "foreign") break;
          foreign.insert(node);
          w.nodes(node, random() % 2 ? "IDLE+DRAIN" : "DOWN");
          break;
        case 2:
          if (foreign.erase(node) > 0) w.nodes(node, "IDLE");
          break;
        case 3:
          w.check_result = std::array{kWell, kSick, kTold, kNotWhole}[random() % 4];
          break;
        case 4:
          if (!w.holds.erase("diagnose " + node)) w.holds.insert("diagnose " + node);
          break;
        case 5:
          if (w.held.contains("diagnose " + node)) w.answer("diagnose " + node, w.check_result);
          break;
        default:
          w.pass(std::chrono::seconds(random() % 600));
      }
      for (const std::string& out : foreign)
        EXPECT_FALSE(std::ranges::any_of(
            w.did, [&](const auto& did) { return did == "drain " + out || did == "undrain " + out; }))
            << seed << " " << step;
    }
    w.expect_replayed();
    for (const std::string& node : foreign) w.nodes(node, "IDLE");
    w.holds.clear();
    w.check_result = kWell;
    for (const auto& [what, command] : std::map(w.held)) w.answer(what, kWell);
    w.pass(26h);
    for (int i = 1; i <= 5; ++i) EXPECT_EQ(w.stands("n" + std::to_string(i)), "in") << seed << " n" << i;
    w.expect_replayed();
  }
}

}  // namespace
}  // namespace sickbay::drain
