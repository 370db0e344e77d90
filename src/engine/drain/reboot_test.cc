// SPDX-License-Identifier: Apache-2.0
// Reboots: when a node is rebooted, when it is not, and what people are told.
#include <gmock/gmock.h>

#include "engine/drain/drain_world.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// One where reboots are allowed and somebody listens.
struct Rebooting : World {
  Rebooting() {
    policy.reboot = policy.notify = true;
    nodes("n[1-40]", "IDLE");
  }
  void asks(int no, const std::string& node = "n3", const std::string& rule = "stuck") {
    finding(no, node, rule, "fault", "reboot");
  }
  /// The node is back, and an agent of its new boot with it.
  void boots(const std::string& node = "n3", const std::string& shown = "IDLE+DRAIN") {
    now += 60s;
    boot = now;
    boot_id = "boot " + std::to_string(++boot_number);
    nodes(node, shown);
  }
  std::string wish(const std::string& node = "n3") const { return wish_text(known(), node); }
  // What was done besides telling.
  std::vector<std::string> acts() const {
    std::vector<std::string> all;
    for (const std::string& act : did)
      if (!act.starts_with("notify")) all.push_back(act);
    return all;
  }
  int boot_number = 0;
};

TEST(Reboot, ANodeIsDrainedRebootedOnceAndComesBackWhenTheFaultIsGone) {
  Rebooting w;
  w.asks(1);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
  EXPECT_EQ(w.stands("n3"), "rebooting");
  w.nodes("n3", "DOWN+DRAIN+REBOOT_ISSUED");
  EXPECT_EQ(w.stands("n3"), "rebooting");
  w.boots();
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.wish(), HasSubstr("waits to see whether that helped"));
  w.finding(2, "n3", "stuck", "ok", "none");
  w.pass(601s);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_EQ(w.wish(), "");
}

TEST(Reboot, TheIntentHoldsBootTimeAndOurReason) {
  Rebooting w;
  w.asks(9);
  for (const Event& event : w.log)
    if (event.kind == kIntent && event.body["verb"].as_string() == "reboot") {
      EXPECT_EQ(event.body["key"].as_string(), "node:n3.b1");
      EXPECT_EQ(event.body["args"]["boot"].as_int(), to_micros(w.boot));
      EXPECT_EQ(event.body["args"]["reason"].as_string(), "sickbay:f9 node/stuck: stuck is broken");
    }
}

// What engine/recover wants of a node as a whole.
struct Recovering : Rebooting {
  void wants(const std::string& action) {
    say("r3", kLeaveWanted,
        Json::object(
            {{"step", 1}, {"cell", 0}, {"node", "n3"}, {"action", action}, {"text", "slurmd: it hangs"}}));
  }
  void closed(const std::string& outcome) {
    say("r3", kRecoveryClosed, Json::object({{"outcome", outcome}, {"node", "n3"}}));
  }
};

TEST(Reboot, ARecoveryHasItsNodeRestartedAndBackWhenItIsOver) {
  for (const char* outcome : {"cured", "gone", "refused"}) {
    Recovering w;
    w.wants("reboot");
    EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
    w.boots();
    w.pass(1h);
    EXPECT_EQ(w.stands("n3"), "out") << "until it was seen whether that helped";
    w.closed(outcome);
    w.pass(601s);
    EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "undrain n3")) << outcome;
  }
}

TEST(Reboot, WhatARecoveryGaveUpStaysOut) {
  for (const char* action : {"reboot", "drain"}) {
    Recovering w;
    w.wants(action);
    w.boots();
    w.closed("given_up");
    w.pass(24h);
    EXPECT_EQ(w.stands("n3"), "out") << action;
    w.say("cluster", kUndoDrains, Json::object({{"by", "root"}, {"nodes", "n3"}, {"rule", "recover"}}));
    EXPECT_EQ(w.acts().back(), "undrain n3");
  }
}

TEST(Reboot, RecoveriesDoNotRebootANodeInACircle) {
  Recovering w;
  w.wants("reboot");
  w.boots();
  w.closed("cured");
  w.pass(601s);
  w.say("r4", kLeaveWanted, Json::object({{"node", "n3"}, {"action", "reboot"}, {"text", "again"}}));
  w.pass(1h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "undrain n3", "drain n3"));
}

TEST(Reboot, OnlyObservedARecoveryTakesNothing) {
  Recovering w;
  w.policy.act = false;
  w.wants("reboot");
  w.closed("given_up");
  EXPECT_THAT(w.acts(), IsEmpty());
}

TEST(Reboot, ByDefaultPeopleDoIt) {
  Rebooting w;
  w.policy.reboot = Policy().reboot;
  w.asks(1);
  w.pass(24h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3"));
  EXPECT_THAT(w.wish(), HasSubstr("drain.reboot is false"));
  EXPECT_EQ(w.view("n3")["wish"].as_string(), w.wish());
}

TEST(Reboot, NothingIsRebootedWhereWeOnlyObserveOrTheDrainIsNotOurs) {
  Rebooting observes;
  observes.policy.act = false;
  observes.asks(1);
  EXPECT_THAT(observes.acts(), IsEmpty());
  Rebooting foreign;
  foreign.nodes("n3", "IDLE+DRAIN");
  foreign.asks(1);
  foreign.pass(24h);
  EXPECT_THAT(foreign.acts(), IsEmpty());
  Rebooting drains;
  drains.finding(1, "n3", "disk");
  drains.finding(2, "n4", "fan", "fault", "power_off");
  drains.pass(24h);
  EXPECT_THAT(drains.acts(), ElementsAre("drain n3", "drain n4")) << "nobody asked for a reboot";
  EXPECT_THAT(drains.wish("n4"), HasSubstr("powered off: people do it"));
}

TEST(Reboot, ItWaitsUntilTheNodeHasNoJob) {
  Rebooting w;
  w.shown_when_drained = "MIXED+DRAIN";
  w.asks(1);
  w.pass(5h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3"));
  EXPECT_THAT(w.wish(), HasSubstr("no job"));
  w.nodes("n3", "IDLE+DRAIN");
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
}

TEST(Reboot, AFaultThatIsGoneBeforeNeedsNone) {
  Rebooting w;
  w.shown_when_drained = "MIXED+DRAIN";
  w.asks(1);
  w.finding(2, "n3", "stuck", "ok", "none");
  w.nodes("n3", "IDLE+DRAIN");
  w.pass(1h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "undrain n3"));
}

TEST(Reboot, TheFaultThereAgainMeansPeople) {
  Rebooting w;
  w.asks(1);
  w.asks(2);  // the hourly reminder of the same boot
  w.boots();
  w.asks(3);
  w.pass(72h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3")) << "one reboot for one reason, ever";
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.wish(), HasSubstr("there again after the reboot"));
  std::vector<std::string> escalations;
  for (const Json& told : w.told) escalations.push_back(told["escalation"].as_string());
  EXPECT_THAT(escalations, ElementsAre("", "", "the fault is there again after a reboot"));
}

TEST(Reboot, ANewReasonOfTheSameRuleRests) {
  Rebooting w;
  w.policy.reboot_rest = 24h;
  w.asks(1);
  w.boots();
  w.finding(2, "n3", "stuck", "ok", "none");
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "in");
  w.asks(3);
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "undrain n3", "drain n3"));
  EXPECT_THAT(w.wish(), HasSubstr("people must look"));
  w.pass(24h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "undrain n3", "drain n3", "reboot n3"));
}

TEST(Reboot, OneRebootServesAllReasonsThatAskForIt) {
  Rebooting w;
  w.shown_when_drained = "MIXED+DRAIN";
  w.asks(1);
  w.asks(2, "n3", "hung");
  w.nodes("n3", "IDLE+DRAIN");
  w.boots();
  w.pass(1h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
}

TEST(Reboot, WhoRebootedItHimselfIsNotDoneAgain) {
  Rebooting w;
  w.shown_when_drained = "MIXED+DRAIN";
  w.asks(1);
  w.boots();
  w.pass(24h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3"));
  EXPECT_THAT(w.wish(), HasSubstr("somebody rebooted it"));
}

TEST(Reboot, ARefusedRebootIsToldAndNotTriedAgainUntilSomebodyActs) {
  Rebooting w;
  w.refusals["reboot n3"] = "RebootProgram isn't defined";
  w.asks(1);
  w.pass(72h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.wish(), HasSubstr("failed: RebootProgram isn't defined; do something"));
  EXPECT_THAT(w.told.back()["escalation"].as_string(), HasSubstr("RebootProgram"));
  EXPECT_EQ(w.told.size(), 2U);
  w.refusals.clear();
  w.nodes("n3", "IDLE");  // somebody resumes it
  w.asks(2);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "drain n3", "reboot n3"));
}

TEST(Reboot, ANodeThatDoesNotComeBackIsToldOf) {
  Rebooting w;
  w.asks(1);
  w.nodes("n3", "DOWN+DRAIN+REBOOT_ISSUED");
  w.pass(59min);
  EXPECT_EQ(w.stands("n3"), "rebooting");
  w.pass(2min);
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_THAT(w.wish(), HasSubstr("failed: Slurm has not shown it booted anew for 60 min"));
  EXPECT_THAT(w.told.back()["escalation"].as_string(), HasSubstr("booted anew"));
  w.boots();
  EXPECT_THAT(w.wish(), HasSubstr("waits to see whether that helped"));
}

// Tried on 22.05: after ResumeTimeout the node is DOWN, and its drain is gone.
TEST(Reboot, ADrainThatSlurmDropsIsSetAgain) {
  Rebooting w;
  w.asks(1);
  w.nodes("n3", "DOWN+DRAIN+REBOOT_ISSUED");
  w.nodes("n3", "DOWN");
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "drain n3"));
  EXPECT_THAT(w.wish(), HasSubstr("ResumeTimeout"));
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_EQ(w.cluster.breaker.partitions().at("batch").left.size(), 1U) << "it left once";
  // Had it come back before we looked:
  Rebooting quick;
  quick.asks(1);
  quick.boots("n3", "IDLE");
  EXPECT_THAT(quick.acts(), ElementsAre("drain n3", "reboot n3", "drain n3"));
}

// Tried on 22.05 with ReturnToService=1: it stays DOWN, and lifting our drain leaves it so.
TEST(Reboot, ANodeThatBootsLateAndStaysDownIsLeftToPeople) {
  Rebooting w;
  w.shown_when_lifted = "DOWN";
  w.asks(1);
  w.nodes("n3", "DOWN+DRAIN+REBOOT_ISSUED");
  w.shown_when_drained = "DOWN+DRAIN";
  w.nodes("n3", "DOWN");
  const auto told = w.told.size();
  w.boots("n3", "DOWN+DRAIN");
  EXPECT_EQ(w.stands("n3"), "out");
  ASSERT_EQ(w.told.size(), told + 1);
  EXPECT_THAT(w.told.back()["escalation"].as_string(), HasSubstr("scontrol update nodename=n3 state=resume"));
  w.finding(2, "n3", "stuck", "ok", "none");
  w.pass(601s);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3", "drain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_THAT(w.wish(), HasSubstr("scontrol update nodename=n3 state=resume"));
  w.nodes("n3", "IDLE");  // somebody does it
  EXPECT_EQ(w.wish(), "");
}

// With ReturnToService=2 it takes work again, and our drain is all that keeps it out.
TEST(Reboot, ANodeThatBootsLateAndIsIdleIsKeptOutByItsDrain) {
  Rebooting w;
  w.asks(1);
  w.nodes("n3", "DOWN+DRAIN+REBOOT_ISSUED");
  w.shown_when_drained = "DOWN+DRAIN";
  w.nodes("n3", "DOWN");
  const auto told = w.told.size();
  w.boots("n3", "IDLE+DRAIN");
  EXPECT_EQ(w.stands("n3"), "out");
  EXPECT_EQ(w.told.size(), told);
  w.finding(2, "n3", "stuck", "ok", "none");
  w.pass(601s);
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_EQ(w.wish(), "");
}

TEST(Reboot, WhoPutsItBackMeanwhileIsRight) {
  Rebooting w;
  w.asks(1);
  w.nodes("n3", "DOWN+REBOOT_ISSUED");
  w.boots("n3", "IDLE");
  w.pass(24h);
  EXPECT_THAT(w.acts(), ElementsAre("drain n3", "reboot n3"));
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Reboot, TheBreakerCountsRebootsThatComeLaterThanTheirDrain) {
  Rebooting w;  // 40 nodes: two in an hour
  w.shown_when_drained = "MIXED+DRAIN";
  w.asks(1, "n1");
  w.asks(2, "n2");
  w.pass(61min);
  w.asks(3, "n3");
  w.asks(4, "n4");
  w.pass(61min);
  EXPECT_THAT(w.acts(), ElementsAre("drain n1", "drain n2", "drain n3", "drain n4"));
  w.asks(5, "n5");
  w.nodes("n[1-4]", "IDLE+DRAIN");  // all are empty at once
  EXPECT_THAT(w.acts(), ::testing::SizeIs(6)) << "the drain of n5 and one reboot";
  EXPECT_THAT(w.wish("n4"), HasSubstr("breaker"));
  w.pass(61min);
  EXPECT_THAT(w.acts(), ::testing::SizeIs(8));
  w.pass(61min);
  EXPECT_THAT(w.acts(), ::testing::SizeIs(9));
}

}  // namespace
}  // namespace sickbay::drain
