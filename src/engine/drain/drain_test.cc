// SPDX-License-Identifier: Apache-2.0
// The drain engine driven by events alone: what leaves, what the breaker keeps, what comes back.
#include <gmock/gmock.h>

#include <random>

#include "engine/drain/drain_world.h"

namespace sickbay::drain {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

TEST(Drain, AFaultTakesTheNodeOutAndItsEndBringsItBack) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(599s);
  EXPECT_EQ(w.stands("n3"), "out") << "not before the stated time";
  w.pass(2s);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Drain, WhatDiffersFromItsLikesDrainsOnlyWhereTheSiteSaysSo) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  const auto odd = [&](const std::string& nodes, const std::string& severity) {
    w.say("fleet", kFleetOdd,
          Json::object({{"key", "odd A mount:/home "},
                        {"fact", "mount:/home"},
                        {"nodes", nodes},
                        {"severity", severity},
                        {"text", nodes + " lacks /home"}}));
  };
  odd("n[3-4]", "warn");
  EXPECT_THAT(w.did, IsEmpty());
  odd("n[3-4]", "drain");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n4"));
  odd("n4", "drain");
  w.pass(601s);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n4", "undrain n3")) << "n3 has it again";
  w.say("fleet", kFleetOdd, Json::object({{"key", "odd A mount:/home "}, {"over", true}}));
  w.pass(601s);
  EXPECT_EQ(w.stands("n4"), "in");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n4", "undrain n3", "undrain n4"));
}

TEST(Drain, TheReasonInSlurmNamesFindingAndRule) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(9, "n3", "disk");
  for (const Event& event : w.log)
    if (event.kind == kIntent) {
      EXPECT_EQ(event.body["args"]["reason"].as_string(), "sickbay:f9 node/disk: disk is broken");
    }
}

TEST(Drain, NoTerminalObeysTheReasonInSlurm) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.say("f9", kFinding,
        Json::object({{"node", "n3"},
                      {"specification", "node"},
                      {"rule", "disk"},
                      {"result", "fault"},
                      {"action", "drain"},
                      {"text",
                       "a\n\x1b[31mb\x7f\xc2\x9b"
                       "31mc\xff"
                       "d\xe2\x80\xae"
                       "e \xc3\xa4"},
                      {"boot_id", "b"}}));
  int drains = 0;
  for (const Event& event : w.log)
    if (event.kind == kIntent) {
      ++drains;
      EXPECT_EQ(event.body["args"]["reason"].as_string(),
                "sickbay:f9 node/disk: a  [31mb  31mc d e \xc3\xa4");
    }
  EXPECT_EQ(drains, 1);
}

TEST(Drain, AFaultThatComesBackBeforeTheTimeIsUpKeepsTheNodeOut) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "disk", "ok", "none");
  w.pass(300s);
  w.finding(3, "n3", "disk");
  w.pass(3600s);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
}

TEST(Drain, ANodeThatWasGoneForAWhileIsTakenOutAgain) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.gone("n3");
  EXPECT_EQ(w.stands("n3"), "in") << "what was said of it went with it";
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.stands("n3"), "in");
  w.finding(2, "n3", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
  EXPECT_EQ(w.stands("n3"), "out");
  w.gone("n4");
  EXPECT_EQ(w.state.nodes.count("n4"), 0u) << "nothing of it need be kept";
}

TEST(Drain, TwoReasonsMustBothEnd) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.finding(2, "n3", "clock");
  w.finding(3, "n3", "disk", "ok", "none");
  w.pass(1h);
  EXPECT_EQ(w.stands("n3"), "out");
  w.finding(4, "n3", "clock", "ok", "none");
  w.pass(1h);
  EXPECT_THAT(w.did, ElementsAre("drain n3", "undrain n3"));
}

TEST(Drain, UnknownLateNotifyAndRestartNeverDrain) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk", "unknown", "none");
  w.finding(2, "n3", "disk", "unknown", "drain");
  w.finding(3, "n3", "disk", "fault", "notify");
  w.finding(4, "n3", "disk", "fault", "drain", true);
  w.finding(5, "n3", "slurmd", "fault", "restart");  // engine/recover's
  EXPECT_THAT(w.did, IsEmpty());
  EXPECT_EQ(w.stands("n3"), "in");
}

TEST(Drain, ByDefaultItOnlyObserves) {
  World w;
  w.policy.act = Policy().act;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.pass(24h);
  EXPECT_THAT(w.did, IsEmpty());
  EXPECT_EQ(w.stands("n3"), "observed");
  EXPECT_TRUE(w.view("n3")["observe_only"].as_bool());
}

TEST(Drain, TheBreakerStopsAWrongRuleAndUndoPutsBack) {
  World w;
  w.nodes("n[1-6]", "IDLE");
  for (int i = 1; i <= 6; ++i) w.finding(i, "n" + std::to_string(i), "wrong");
  EXPECT_THAT(w.did, ElementsAre("drain n1"));  // max(1, min(5, 5 % of 6))
  EXPECT_EQ(w.stands("n2"), "waits");
  EXPECT_THAT(w.kinds(kBreakerTripped), ::testing::SizeIs(5));
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n1")) << "an hour later 20 % are still out";
  w.say("cluster", kUndoDrains,
        Json::object({{"by", "root"}, {"nodes", ""}, {"rule", ""}, {"rest_until", to_micros(w.now + 24h)}}));
  EXPECT_THAT(w.did, ElementsAre("drain n1", "undrain n1"));
  for (int i = 1; i <= 6; ++i) {
    w.finding(10 + i, "n" + std::to_string(i), "wrong");
    EXPECT_EQ(w.stands("n" + std::to_string(i)), "observed") << "the rule rests";
  }
  w.finding(20, "n5", "disk");
  EXPECT_EQ(w.stands("n5"), "out") << "other rules do not rest";
}

TEST(Drain, ARuleThatWasUndoneOnSomeNodesRestsOnThoseAlone) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  const auto undo = [&](const std::string& nodes, const std::string& rest) {
    Json body = Json::object(
        {{"by", "root"}, {"nodes", nodes}, {"rule", ""}, {"rest_until", to_micros(w.now + 24h)}});
    if (!rest.empty()) body.set("rest", rest);
    w.say("cluster", kUndoDrains, std::move(body));
  };
  undo("n3", "nodes");
  EXPECT_EQ(w.stands("n3"), "in");
  w.finding(2, "n3", "disk");
  EXPECT_EQ(w.stands("n3"), "observed") << "there it rests";
  w.finding(3, "n4", "disk");
  EXPECT_EQ(w.stands("n4"), "out") << "what was wrong on n3 may be right on n4";
  undo("n4", "cluster");
  w.finding(4, "n5", "disk");
  EXPECT_EQ(w.stands("n5"), "observed") << "somebody asked for it";
  w.pass(25h);
  w.finding(5, "n3", "disk");
  EXPECT_EQ(w.stands("n3"), "out") << "the rest is over";
}

TEST(Drain, AnUndoOfAnOldJournalRestsTheRuleInTheClusterAsItDidThen) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.say(
      "cluster", kUndoDrains,
      Json::object({{"by", "root"}, {"nodes", "n3"}, {"rule", ""}, {"rest_until", to_micros(w.now + 24h)}}));
  w.finding(2, "n4", "disk");
  EXPECT_EQ(w.stands("n4"), "observed");
}

TEST(Drain, TheBreakerLetsTheNextGoWhenTheWindowHasPassed) {
  World w;
  w.policy.breaker.most_out_percent = 100;
  w.nodes("n[1-6]", "IDLE");
  w.finding(1, "n1", "disk");
  w.finding(2, "n2", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n1"));
  w.pass(1h);
  EXPECT_THAT(w.did, ElementsAre("drain n1", "drain n2"));
  EXPECT_THAT(w.kinds(kBreakerReset), ::testing::SizeIs(1));
}

TEST(Drain, DrainsOfPeopleCountAndAreNotUndone) {
  World w;
  w.nodes("n[1-6]", "IDLE");
  w.nodes("n1", "IDLE+DRAIN");
  w.finding(1, "n2", "disk");
  EXPECT_EQ(w.stands("n2"), "waits");
  w.finding(2, "n1", "disk");
  EXPECT_EQ(w.stands("n1"), "foreign");
  w.finding(3, "n1", "disk", "ok", "none");
  w.pass(30min);
  EXPECT_THAT(w.did, IsEmpty());
}

TEST(Drain, ANodeOfTwoPartitionsNeedsRoomInBoth) {
  World w;
  w.nodes("n[1-100]", "IDLE", {"big"});
  w.nodes("n[1-4]", "IDLE", {"big", "small"});
  w.finding(1, "n1", "disk");
  w.finding(2, "n2", "disk");
  w.finding(3, "n50", "disk");
  EXPECT_THAT(w.did, ElementsAre("drain n1", "drain n50"));
}

TEST(Drain, WhoPutsANodeBackByHandIsRight) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.nodes("n3", "IDLE");  // scontrol update nodename=n3 state=resume
  EXPECT_EQ(w.stands("n3"), "in");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
}

TEST(Drain, ARefusedDrainIsNotTriedAgainUntilTheNodeIsFree) {
  World w;
  w.refusals["drain n3"] = "node n3 has the reason 'fan'";
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  EXPECT_EQ(w.stands("n3"), "refused");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("drain n3"));
  w.refusals.clear();
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
}

// Published of flux-core as #4567: what crashed came back and had work at once (doc/peers.md).
TEST(Drain, ANodeThatShouldLeaveIsLookedForUntilItIsInServiceAgain) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  EXPECT_FALSE(wants_nodes(w.cluster, w.state, w.policy));
  w.nodes("n3", "DOWN");
  w.verdict("n3");
  EXPECT_EQ(w.stands("n3"), "foreign");
  EXPECT_TRUE(wants_nodes(w.cluster, w.state, w.policy)) << "it is let be while it is down";
  w.nodes("n4", "IDLE+DRAIN");
  w.finding(1, "n4", "disk");
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  w.check_passes = true;
  w.pass(3600s);
  w.pass(600s);
  EXPECT_TRUE(wants_nodes(w.cluster, w.state, w.policy)) << "n4 is somebody else's as yet";
  w.finding(2, "n4", "disk", "ok");
  EXPECT_FALSE(wants_nodes(w.cluster, w.state, w.policy)) << "nothing would come of it";
}

// Published of OpenPBS as #2579, and seen of slurmctld (doc/peers.md).
TEST(Drain, ADrainThatSlurmctldForgetsIsSetAgainAndAPersonsHandIsRightAfterThat) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk");
  w.now += 20s;
  w.say("cluster", kControllerSeen, Json::object({{"boot", to_micros(w.now)}}));
  w.now += 10s;
  w.nodes("n3", "IDLE");
  EXPECT_THAT(w.did, ElementsAre("drain n3", "drain n3"));
  EXPECT_EQ(w.left.size(), 1u) << "it was counted";
  EXPECT_EQ(w.stands("n3"), "out");
  w.now += kFirstLooks;
  w.nodes("n3", "IDLE");
  EXPECT_EQ(w.stands("n3"), "in");
  EXPECT_EQ(w.did.size(), 2u);
}

// Published of NVSentinel as #450 (doc/peers.md).
TEST(Drain, AfterAStartAnOldWordIsActedOnWhenTheAgentHasBeenHeard) {
  World w;
  w.policy.act = false;
  w.nodes("n[1-100]", "IDLE");
  w.finding(1, "n1", "disk");
  w.finding(2, "n2", "disk");
  w.verdict("n3");
  w.pass(1h);
  w.policy.act = true;  // as if the breaker had held them: they should leave now
  Heard heard;
  heard.started = w.now;
  const auto leaves = [&](const std::string& node, std::chrono::seconds later) {
    const Decision d = decide(w.cluster, w.state, w.policy, node, heard.started + later, &heard);
    EXPECT_TRUE(!d.claims.empty() || d.wake_at <= heard.started + kAgentsBack) << "it is asked again";
    return !d.claims.empty();
  };
  EXPECT_FALSE(leaves("n1", 0s));
  EXPECT_TRUE(leaves("n3", 0s)) << "no agent said that";
  heard.agents["n1"] = heard.started + 20s;
  EXPECT_FALSE(leaves("n1", 79s)) << "it may be about to say that it is gone";
  EXPECT_TRUE(leaves("n1", 80s));
  EXPECT_FALSE(leaves("n2", 299s));
  EXPECT_TRUE(leaves("n2", 300s)) << "its agent is dead";
  w.finding(3, "n4", "disk");
  EXPECT_EQ(w.stands("n4"), "out") << "who says it now is believed";
  w.policy.examine = false;
  EXPECT_TRUE(leaves("n2", 0s)) << "no agents are listened to";
}

TEST(Drain, WhatIsOnlyObservedIsNotLookedFor) {
  World w;
  w.policy.act = false;
  w.nodes("n[1-40]", "DOWN");
  w.verdict("n3");
  w.finding(1, "n4", "disk");
  EXPECT_FALSE(wants_nodes(w.cluster, w.state, w.policy));
}

TEST(Drain, AVerdictDrainsAndADeepDiagnosisThatPassesLifts) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  w.verdict("n3", false);
  w.verdict("n4", true, "a");
  EXPECT_THAT(w.did, IsEmpty()) << "neither a provisional verdict nor one against the program";
  w.verdict("n3");
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3"));
  w.check_passes = true;
  w.pass(3600s);
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "diagnose n3"));
  w.pass(600s);
  EXPECT_THAT(w.did, ElementsAre("diagnose n3", "drain n3", "diagnose n3", "undrain n3"));
  EXPECT_THAT(w.kinds(kReasonEnded), ::testing::SizeIs(1));
}

// What a verdict found faulty drains, whatever the cause of the job was; what is the cause does not by that.
TEST(Drain, OnlyWhatAVerdictFindsFaultyDrains) {
  World w;
  w.nodes("n[1-40]", "IDLE");
  const auto say = [&](const std::string& cause, Json faulty) {
    w.say("c1", "verdict",
          Json::object({{"cause", cause},
                        {"final", true},
                        {"nodes", Json::array({"n3"})},
                        {"sentence", "Node n3 is the cause: its /tmp is full."},
                        {"faulty", std::move(faulty)}}));
  };
  const auto found = [](const std::string& node, const std::string& peer, bool drains) {
    return Json::object({{"node", node},
                         {"peer", peer},
                         {"by", "c1.v1"},
                         {"what", "verification failed"},
                         {"reason", "its rank died"},
                         {"drains", drains}});
  };
  say("b", Json::array({found("n3", "", false)}));
  say("b", Json::array({found("n3", "n4", true)}));
  say("b", Json::array());
  EXPECT_THAT(w.did, IsEmpty());
  say("a", Json::array({found("n5", "", true)}));
  EXPECT_THAT(w.did, ElementsAre("diagnose n5", "drain n5"));
  // V on an idle node says the same of it as V within a case.
  w.say("p1", kPatrolBlames,
        Json::object(
            {{"run", "p1.v1"}, {"faulty", Json::array({found("n5", "", true), found("n6", "n7", true)})}}));
  EXPECT_EQ(w.state.nodes.at("n5").reasons.at("p1").rule, "verdict");
  EXPECT_FALSE(w.state.nodes.contains("n6"));
  EXPECT_EQ(w.state.nodes.at("n5").reasons.at("c1").text, "verification failed: its rank died");
}

TEST(Drain, FindingsAreToldOnceWhereSomebodyListens) {
  World w;
  w.policy.notify = true;
  w.policy.act = false;
  w.nodes("n[1-40]", "IDLE");
  w.finding(1, "n3", "disk", "fault", "notify");
  w.finding(2, "n3", "fan", "unknown", "none");
  w.pass(24h);
  EXPECT_THAT(w.did, ElementsAre("notify "));
}

// A drain that was done, and could not be lifted before Slurm was looked at: it is not ours any more, and was
// counted when we set it.
TEST(Drain, AnOldJournalCountsADrainThatCouldNotBeLiftedOnce) {
  cluster::Cluster cluster;
  State state;
  TimePoint now = from_unix_seconds(1'800'000'000);
  const auto replay = [&](std::string subject, std::string_view kind, Json body) {
    Event event;
    event.at = now += 1s;
    event.subject = std::move(subject);
    event.kind = kind;
    event.body = std::move(body);
    raise(state, event);
    cluster::apply(cluster, event);
    (void)apply(state, cluster.view, event);
  };
  const auto shows = [&](const char* words) {
    replay("cluster", kNodesSeen,
           Json::object({{"groups", Json::array({Json::object({{"nodes", "n3"},
                                                               {"state", words},
                                                               {"usable", true},
                                                               {"partitions", Json::array({"batch"})}})})}}));
  };
  const auto does = [&](const char* verb, std::string_view end) {
    const Json body = Json::object({{"key", std::string("node:n3.") + verb}, {"verb", verb}});
    replay("node:n3", kIntent, body);
    replay("node:n3", end, body);
  };
  shows("IDLE");
  does("drain", kDone);
  does("undrain", kFailed);
  shows("IDLE+DRAIN");
  EXPECT_EQ(cluster.breaker.partitions().at("batch").left.size(), 1u);
  shows("IDLE");
  shows("IDLE+DRAIN");  // by somebody
  EXPECT_EQ(cluster.breaker.partitions().at("batch").left.size(), 2u);
}

// Whatever agents, cases and people do: the breaker's bounds hold at every moment, and a replay of the events
// gives the same state.
TEST(DrainProperty, TheBreakerHoldsAndReplayIsEqual) {
  int rebooted = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    World w;
    w.policy.reboot = seed % 2 == 0;
    w.policy.reboot_rest = 2h;
    if (seed % 3 == 0) w.silent_every = 3, w.takes_effect_silently = seed % 2 == 0;
    const int size = 1 + pick(60);
    w.nodes("n[1-" + std::to_string(size) + "]", "IDLE");
    const int limit = std::max(1, std::min(5, size * 5 / 100)), most_out = std::max(1, size * 20 / 100);
    for (int step = 0; step < 200; ++step) {
      const std::string node = "n" + std::to_string(1 + pick(size)), rule = "r" + std::to_string(pick(3));
      switch (pick(11)) {
        case 0:
        case 1:
        case 2:
          w.finding(step, node, rule, "fault", rule == "r0" ? "drain" : "reboot");
          break;
        case 8:  // Slurm gives a reboot up, or somebody resumes a node that is down
          w.nodes(node, pick(2) == 0 ? "DOWN" : "DOWN+DRAIN+REBOOT_ISSUED");
          break;
        case 9:
          w.boot = w.now;
          w.boot_id = "boot " + std::to_string(step);
          w.nodes(node, w.drained(node) && pick(4) > 0 ? "IDLE+DRAIN" : "IDLE");
          break;
        case 3:
          w.finding(step, node, rule, "ok", "none");
          break;
        case 4:
          w.verdict(node);
          break;
        case 5:
          w.nodes(node, pick(3) == 0 ? "DOWN" : "IDLE");
          break;
        case 6:
          w.check_passes = pick(2) == 0;
          w.pass(std::chrono::seconds(pick(2000)));
          break;
        case 7:
          w.gone(node);  // and back, when it is seen again
          break;
        default:
          w.say("cluster", kUndoDrains,
                Json::object(
                    {{"by", "root"}, {"nodes", node}, {"rule", ""}, {"rest_until", to_micros(w.now + 1h)}}));
      }
      int out = 0;
      for (const auto& [name, n] : w.state.nodes) out += n.ours;
      ASSERT_LE(out, most_out) << "seed " << seed << " step " << step;
    }
    std::deque<TimePoint> recent;
    for (const TimePoint at : w.left) {
      recent.push_back(at);
      while (recent.front() <= at - w.policy.breaker.window) recent.pop_front();
      ASSERT_LE(static_cast<int>(recent.size()), limit) << "seed " << seed;
    }
    std::map<std::string, TimePoint> reboots;  // by node and rule, of reasons that were new
    for (const Event& event : w.log) {
      if (event.kind != kIntent || event.body["verb"].as_string() != "reboot") continue;
      ++rebooted;
      const Json& args = event.body["args"];
      const std::string reason = args["reason"].as_string();
      const std::string what = args["node"].as_string() + reason.substr(reason.find(' '));
      if (reboots.contains(what)) {
        EXPECT_GE(event.at - reboots[what], w.policy.reboot_rest) << what << " seed " << seed;
      }
      reboots[what] = event.at;
    }
    State again;
    cluster::Cluster seen_again;
    for (Event event : w.log) {
      raise(again, event);
      cluster::apply(seen_again, event);
      (void)apply(again, seen_again.view, event);
    }
    EXPECT_EQ(canonical_text(again), canonical_text(w.state)) << "seed " << seed;
    EXPECT_EQ(cluster::canonical_text(seen_again), cluster::canonical_text(w.cluster)) << "seed " << seed;
  }
  EXPECT_GT(rebooted, 20) << "reboots are among what is tried";
}

}  // namespace
}  // namespace sickbay::drain
