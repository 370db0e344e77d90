// SPDX-License-Identifier: Apache-2.0
// A recovery and the drain engine at one table: a node that recovery wants restarted goes from one claim to
// the other, is drained, booted and comes back.
#include "service/seats/recover_seat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "service/seats/drain_seat.h"

namespace sickbay {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Both seats, asked as the controller does, and a cluster that does what it is told at once.
struct Table {
  cluster::Cluster cluster;
  recover::Policy recover_policy;
  drain::Policy drain_policy;
  RecoverSeat recovers{cluster, recover_policy};
  DrainSeat drains{cluster, drain_policy};
  TimePoint now = from_unix_seconds(1'800'000'000), boot = from_unix_seconds(1'700'000'000);
  std::vector<std::string> did;
  std::set<std::string> keys;
  std::vector<Command> todo;
  bool well = true;

  Table() {
    recover_policy.act = recover_policy.reboot = drain_policy.act = drain_policy.reboot = true;
    show("n[1-20]", "IDLE");
    say("node:n3", kComponentsSeen,
        Json::object({{"components", Json::array({Json::object({{"name", "slurmd"}})})}}));
  }
  void take(Event event) {
    event.at = now;
    cluster::apply(cluster, event);
    recovers.apply(event);
    drains.apply(event);
  }
  void say(std::string subject, std::string_view kind, Json body) {
    take(new_event(std::move(subject), kind, std::move(body)));
    settle();
  }
  void show(const std::string& nodes, const std::string& state) {
    say("cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", nodes},
                                                            {"state", state},
                                                            {"usable", state == "IDLE"},
                                                            {"partitions", Json::array({"batch"})},
                                                            {"boot", to_micros(boot)},
                                                            {"idle", true}})})}}));
  }
  void settle() {
    for (int turn = 0; turn < 64; ++turn) {
      bool news = false;
      for (Seat* seat : {static_cast<Seat*>(&recovers), static_cast<Seat*>(&drains)})
        for (const std::string& subject : seat->take_touched()) {
          Seat::Turn turn_of = seat->decide(subject, now);
          news = true;
          bool claimed = false;
          for (const cluster::Claim& claim : turn_of.claims)
            if (cluster.claims.find(claim.on, now) == nullptr) {
              take(cluster::Claims::claimed(claim));
              claimed = true;
            }
          if (claimed) turn_of = seat->decide(subject, now);
          for (Event& record : turn_of.records) take(std::move(record));
          for (Command& command : turn_of.commands)
            if (keys.insert(command.key).second) {
              for (const std::string& node : command.draws)
                EXPECT_NE(cluster.claims.find(node_subject(node), now), nullptr) << command.key;
              take(new_event(command.subject, kIntent,
                             Json::object({{"key", command.key},
                                           {"verb", command.verb},
                                           {"args", command.args},
                                           {"draws", command.draws}})));
              todo.push_back(std::move(command));
            }
        }
      if (!news && todo.empty()) return;
      if (!news) run(std::exchange(todo, {}));
    }
    ADD_FAILURE() << "it does not settle";
  }
  void run(const std::vector<Command>& commands) {
    for (const Command& command : commands) {
      did.push_back(command.verb + " " + command.args["node"].as_string());
      Json result = Json::object({{"restarted", true}, {"cured", false}, {"well", well}});
      take(new_event(command.subject, kDone,
                     Json::object({{"key", command.key}, {"verb", command.verb}, {"result", result}})));
      if (command.verb == "drain") show(command.args["node"].as_string(), "IDLE+DRAIN");
      if (command.verb == "undrain") show(command.args["node"].as_string(), "IDLE");
    }
  }
  void boots() {
    now += 120s;
    boot = now;
    show("n3", "IDLE+DRAIN");
  }
  void pass(std::chrono::seconds time) {
    now += time;
    recovers.touch_all();
    drains.touch_all();
    settle();
  }
  void alice_asks() {
    recover::Fault fault;
    fault.node = "n3";
    fault.component = "slurmd";
    fault.source = "by alice";
    say(recovery_name(recovers.new_number()), kRecoveryOpened, fault.to_json());
  }
};

TEST(RecoverSeat, ANodeIsRestartedByTheDrainEngineAndComesBack) {
  Table t;
  t.alice_asks();
  EXPECT_THAT(t.did, ElementsAre("restart_component n3", "drain n3", "reboot n3"));
  EXPECT_EQ(t.cluster.claims.find("node:n3", t.now)->holder, "drain");
  EXPECT_TRUE(t.recovers.closely().contains("n3"));
  t.boots();
  EXPECT_EQ(t.did.back(), "check_component n3");
  EXPECT_EQ(t.recovers.state().recoveries.at(1).outcome, recover::Outcome::cured);
  t.pass(601s);
  EXPECT_EQ(t.did.back(), "undrain n3");
  EXPECT_EQ(t.cluster.claims.find("node:n3", t.now), nullptr);
  EXPECT_FALSE(t.recovers.wish().nodes_every) << "nothing is left to look at";
}

TEST(RecoverSeat, ABootIsLookedForMoreOftenThanANodeThatMustBecomeEmpty) {
  Table t;
  t.drain_policy.act = false;  // so that it waits before the drain
  t.say("cluster", kNodesSeen,
        Json::object({{"groups", Json::array({Json::object({{"nodes", "n3"},
                                                            {"state", "ALLOCATED"},
                                                            {"usable", true},
                                                            {"boot", to_micros(t.boot)},
                                                            {"partitions", Json::array({"batch"})}})})}}));
  t.alice_asks();
  EXPECT_EQ(t.recovers.wish().nodes_every, Micros(10s)) << "its job runs on, for hours perhaps";
  t.show("n3", "IDLE+DRAIN");
  EXPECT_EQ(t.recovers.wish().nodes_every, Micros(2s));
  t.boots();
  EXPECT_FALSE(t.recovers.wish().nodes_every);
}

TEST(RecoverSeat, WhatTheRestartDidNotCureStaysOut) {
  Table t;
  t.well = false;
  t.alice_asks();
  t.boots();
  EXPECT_EQ(t.recovers.state().recoveries.at(1).outcome, recover::Outcome::given_up);
  t.pass(24h);
  EXPECT_EQ(std::ranges::count(t.did, "undrain n3"), 0);
}

TEST(RecoverSeat, ANumberThatIsGivenIsNotTakenByAFinding) {
  Table t;
  EXPECT_EQ(t.recovers.new_number(), 1);
  t.say("f9", kFinding,
        Json::object({{"node", "n3"},
                      {"specification", "node"},
                      {"rule", "slurmd"},
                      {"result", "fault"},
                      {"action", "restart"},
                      {"component", "slurmd"}}));
  EXPECT_THAT(t.recovers.state().recoveries, IsEmpty());
  recover::Fault fault;
  fault.of = recover::FaultClass::cluster;
  t.say("r1", kRecoveryOpened, fault.to_json());
  EXPECT_TRUE(t.recovers.state().recoveries.contains(2)) << "now its number is known";
  EXPECT_EQ(t.recovers.state().recoveries.at(2).fault.source, "f9");
}

}  // namespace
}  // namespace sickbay
