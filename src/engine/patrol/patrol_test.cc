// SPDX-License-Identifier: Apache-2.0
// Rounds of verification, told to the engine as the journal would: who is taken, who is let be, what is said.
#include <gmock/gmock.h>

#include <functional>

#include "engine/patrol/patrol_test_parts.h"

namespace sickbay::patrol {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Patrol, ClaimsFirstThenLooksThenBegins) {
  World w;
  w.ask();
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]") << "the breaker of ten nodes lets two be out";
  EXPECT_THAT(w.keys(), IsEmpty()) << "Slurm has not shown them since";
  EXPECT_EQ(looked_at(w.cluster, w.state, w.policy, w.now).at("n1"), w.cluster.view.looks);
  w.look("n[1-2]");
  EXPECT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  EXPECT_THAT(w.commands[0].args["nodes"].as_strings(), ElementsAre("n1", "n2"));
  EXPECT_TRUE(w.commands[0].args["last"].as_bool());
  EXPECT_THAT(w.commands[0].draws, IsEmpty());
  w.speaks("p1.v1", {{"n1", "ok"}, {"n2", "slow"}});
  EXPECT_EQ(w.state.rounds.at(1).runs.at(0).job.uid, 0U) << "as Slurm showed it last";
  ASSERT_EQ(w.of_kind(kVerified).size(), 1U);
  EXPECT_EQ(w.of_kind(kVerified)[0]->body["run"].as_string(), "p1.v1");
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty()) << "slow is told, and no more";
  EXPECT_EQ(w.claims(), "n[3-4]") << "the next ones, and the first given back";
}

TEST(Patrol, TakesNothingBeforeTheQueueIsKnown) {
  World w;
  w.take(new_event("p1", kPatrolAsked, Json::object({{"by", "root"}, {"nodes", ""}, {"budget", 5}})));
  w.settle();
  EXPECT_EQ(w.claims(), "");
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]");
}

// Every reason to let a node be.
TEST(Patrol, Standings) {
  const struct {
    const char* what;
    std::function<void(World&)> before, after;
    const char* node;
    const char* standing;
  } kRows[] = {
      {"idle", {}, {}, "n1", "ready"},
      {"down", [](World& w) { w.nodes("n1", "DOWN", false); }, {}, "n1", "out"},
      {"drained", [](World& w) { w.nodes("n1", "IDLE+DRAIN", false); }, {}, "n1", "out"},
      {"a job has it", [](World& w) { w.nodes("n1", "ALLOCATED", false); }, {}, "n1", "busy"},
      {"claimed",
       [](World& w) {
         w.take(
             cluster::Claims::claimed({.on = "node:n1", .holder = "drain", .by = "node:n1", .reason = ""}));
       },
       {},
       "n1",
       "claimed"},
      {"jobs wait for it", {}, [](World& w) { w.queue(Json::array({"batch"})); }, "n1", "wanted"},
      {"jobs wait elsewhere", {}, [](World& w) { w.queue(Json::array({"long"})); }, "n1", "ready"},
      {"no room", {}, {}, "n3", "breaker"},
      {"two are out by us",
       [](World& w) {
         for (const char* on : {"node:n8", "node:n9"})
           w.take(
               cluster::Claims::claimed({.on = on, .holder = "drain", .by = on, .reason = "", .out = true}));
       },
       {},
       "n1",
       "breaker"},
      {"who left in this hour",
       [](World& w) {
         w.take(new_event("node:n9", kIntent,
                          Json::object({{"key", "k"}, {"verb", "drain"}, {"draws", Json::array({"n9"})}})));
       },
       {},
       "n1",
       "breaker"},
      {"verified by a case an hour ago",
       [](World& w) {
         w.take(new_event(
             "c3", kDone,
             Json::object(
                 {{"key", "c3.v1.a1:output"},
                  {"verb", "read_output"},
                  {"result",
                   Json::object({{"results", Json::array({Json::object(
                                                 {{"node", "n1"}, {"peer", ""}, {"result", "ok"}})})}})}})));
         w.now += minutes(60);
       },
       {},
       "n1",
       "fresh"},
  };
  for (const auto& row : kRows) {
    World w;
    if (row.before) row.before(w);
    w.ask();
    if (row.after) row.after(w);
    EXPECT_EQ(w.standing(row.node), row.standing) << row.what;
  }
}

TEST(Patrol, TheBudgetBounds) {
  World w;
  w.ask("", 1);
  w.settle();
  EXPECT_EQ(w.claims(), "n1");
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "ok"}});
  ASSERT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.state.rounds.at(1).why, "its budget is spent");
  EXPECT_EQ(w.claims(), "");
}

// One hour, and V may take half of it: two nodes at first, and more as those before took less.
TEST(Patrol, NodeHoursBoundAllRoundsOfADay) {
  World w;
  w.nodes("n[1-100]", "IDLE", true);
  w.policy.node_hours = 1;
  w.policy.longest = minutes(30);
  w.policy.together = 3;
  w.ask("", 1000);
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]");
  w.look("n[1-2]");
  w.speaks("p1.v1", {{"n1", "ok"}, {"n2", "ok"}});
  EXPECT_EQ(w.state.rounds.at(1).node_seconds(), 120);
  EXPECT_EQ(w.claims(), "n3") << "58 minutes are left, and two may take 60";
  w.look("n3");
  w.submitted("p1.v2");
  const TimePoint start = w.now;
  w.job("p1.v2", "RUNNING", start);
  EXPECT_EQ(w.standing("n4"), "budget") << "what runs may take all that it may";
  w.now += minutes(29);
  w.job("p1.v2", "FAILED", start);
  w.done("p1.v2:output", std::string(verb::kReadOutput),
         Json::object({{"results", Json::array()}, {"why", "nothing"}}));
  ASSERT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.state.rounds.at(1).why, "its budget is spent");
  EXPECT_EQ(w.state.rounds.at(1).node_seconds(), 120 + 29 * 60);

  w.ask("", 1000, "p2");
  EXPECT_EQ(w.standing("n4"), "budget") << "of all rounds";
  w.now += std::chrono::hours(24);
  EXPECT_EQ(w.standing("n4"), "ready") << "of a day";
}

TEST(Patrol, NamedNodesAreTakenAlthoughTheyAreFresh) {
  World w;
  w.state.nodes["n5"] = {.passed_at = w.now, .said_at = w.now, .by = "c1.v1", .result = "ok", .reason = ""};
  w.ask("n5");
  w.settle();
  EXPECT_EQ(w.claims(), "n5");
  w.look("n5");
  w.speaks("p1.v1", {{"n5", "ok"}});
  EXPECT_EQ(w.state.rounds.at(1).why, "all nodes are done");
}

TEST(Patrol, OldestFirst) {
  World w;
  for (int i = 1; i <= 10; ++i) {
    NodeRecord& node = w.state.nodes["n" + std::to_string(i)];
    node.said_at = w.now - std::chrono::hours(40 + (i == 7 || i == 9 ? 1 : 0));
  }
  w.ask();
  w.settle();
  EXPECT_EQ(w.claims(), "n[7,9]");
}

TEST(Patrol, AJobTookItBetweenClaimAndLook) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.nodes("n1", "ALLOCATED", false);
  w.look("n2");
  ASSERT_NE(w.find("p1.v1:submit"), nullptr);
  EXPECT_THAT(w.find("p1.v1:submit")->args["nodes"].as_strings(), ElementsAre("n2"));
  EXPECT_EQ(w.claims(), "n2");
}

TEST(Patrol, UsersJobsEndIt) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.look("n[1-2]");
  w.submitted("p1.v1");
  w.job("p1.v1", "RUNNING", w.now);
  w.queue(Json::array({"batch"}));
  w.settle();
  ASSERT_NE(w.find("p1.v1:cancel"), nullptr);
  EXPECT_EQ(w.find("p1.v1:cancel")->args["why"].as_string(), "jobs wait for partition batch");
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", w.now);
  EXPECT_EQ(w.find("p1.v1:output"), nullptr);
  EXPECT_EQ(w.claims(), "");
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]") << "it goes on";
  w.look("n[1-2]");
  w.speaks("p1.v2", {{"n1", "ok"}, {"n2", "ok"}});
  EXPECT_EQ(w.of_kind(kClaimReleased).size(), 4U) << "each claim once";
}

TEST(Patrol, ItsNodesAreTakenBeforeItBegins) {
  World w;
  w.ask("n1");
  w.settle();
  w.look("n1");
  w.submitted("p1.v1");
  w.job("p1.v1", "PENDING", kNoTime);
  EXPECT_EQ(w.find("p1.v1:cancel"), nullptr);
  w.now += seconds(61);
  w.settle();
  EXPECT_NE(w.find("p1.v1:cancel"), nullptr);
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", kNoTime);
  EXPECT_FALSE(w.state.rounds.at(1).vain.contains("n1")) << "it gave way";
}

TEST(Patrol, OneThatSaysNothingIsTriedThreeTimes) {
  World w;
  w.ask("n1");
  for (int n = 1; n <= 3; ++n) {
    w.settle();
    ASSERT_EQ(w.claims(), "n1") << n;
    w.look("n1");
    w.speaks("p1.v" + std::to_string(n), {});
  }
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.claims(), "");
}

// A word against a node needs a pass on another one, before or after it, within a day.
TEST(Patrol, BlamesOnlyWithAProofThatVIsSound) {
  World w;
  w.policy.together = 1;
  w.ask("n[1-2]");
  w.settle();
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "failed"}});
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
  w.look("n2");
  w.speaks("p1.v2", {{"n2", "ok"}});
  ASSERT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
  const Json& faulty = w.of_kind(kPatrolBlames)[0]->body["faulty"].items().at(0);
  EXPECT_EQ(faulty["node"].as_string(), "n1");
  EXPECT_EQ(faulty["by"].as_string(), "p1.v1");
  EXPECT_TRUE(faulty["drains"].as_bool());
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.of_kind(kPatrolClosed)[0]->body["failed"].as_string(), "n1");
}

TEST(Patrol, AFullFileSystemOrALinkBlamesNobody) {
  World w;
  w.state.nodes["n9"] = {.passed_at = w.now, .said_at = w.now, .by = "c1.v1", .result = "ok", .reason = ""};
  w.ask("n1");
  w.settle();
  w.look("n1");
  w.speaks("p1.v1", {{"n1", "failed"}}, "space");
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
}

TEST(Patrol, Stop) {
  World w;
  w.ask();
  w.settle();
  w.look("n[1-2]");
  w.submitted("p1.v1");
  w.job("p1.v1", "RUNNING", w.now);
  w.take(new_event("p1", kPatrolStop, Json::object({{"by", "ops"}})));
  w.settle();
  ASSERT_NE(w.find("p1.v1:cancel"), nullptr);
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.done("p1.v1:cancel", std::string(verb::kCancel));
  w.job("p1.v1", "CANCELLED", w.now);
  EXPECT_EQ(w.state.rounds.at(1).why, "stopped by ops");
  EXPECT_EQ(w.claims(), "");
}

TEST(Patrol, StoppedBetweenClaimAndLook) {
  World w;
  w.ask();
  w.settle();
  w.take(new_event("p1", kPatrolStop, Json::object({{"by", "ops"}})));
  w.settle();
  EXPECT_FALSE(w.state.rounds.at(1).open());
  EXPECT_EQ(w.claims(), "");
  EXPECT_THAT(w.keys(), IsEmpty());
}

TEST(Patrol, ItsTimeIsBounded) {
  World w;
  w.nodes("n[1-10]", "ALLOCATED", false);
  w.ask();
  w.settle();
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.now += w.policy.time;
  w.settle();
  EXPECT_EQ(w.state.rounds.at(1).why, "its time is over");
}

TEST(Patrol, LostRefusedAndUncancellable) {
  const struct {
    const char* what;
    std::function<void(World&)> happens;
  } kRows[] = {
      {"lost",
       [](World& w) {
         w.submitted("p1.v1");
         w.take(new_event("p1", kJobLost, Json::object({{"run", "p1.v1"}, {"job_id", 101}})));
       }},
      {"refused",
       [](World& w) {
         w.take(new_event("p1", kFailed,
                          Json::object({{"key", "p1.v1:submit"},
                                        {"verb", "submit_verification"},
                                        {"error", Json::object({{"what", "no"}})}})));
       }},
      {"cancelled by a person",
       [](World& w) {
         w.submitted("p1.v1");
         w.job("p1.v1", "RUNNING", w.now);
         w.job("p1.v1", "CANCELLED", w.now);
       }},
  };
  for (const auto& row : kRows) {
    World w;
    w.ask("n1");
    w.settle();
    w.look("n1");
    ASSERT_NE(w.find("p1.v1:submit"), nullptr) << row.what;
    row.happens(w);
    w.settle();
    EXPECT_EQ(w.find("p1.v1:output"), nullptr) << row.what;
    EXPECT_EQ(w.state.rounds.at(1).vain.at("n1"), 1) << row.what;
    w.look("n1");
    EXPECT_NE(w.find("p1.v2:submit"), nullptr) << row.what << ": it is tried anew";
  }
}

TEST(Patrol, AReplayGivesTheSame) {
  World w;
  w.ask("n[1-2]");
  w.settle();
  w.look("n[1-2]");
  w.speaks("p1.v1", {{"n1", "failed"}, {"n2", "ok"}});
  World again;
  again.cluster = {};
  again.state = State();
  for (const Event& event : w.journal) {
    cluster::apply(again.cluster, event);
    apply(again.state, again.cluster.view, event);
  }
  EXPECT_EQ(canonical_text(again.state), canonical_text(w.state));
  EXPECT_THAT(canonical_text(w.state), HasSubstr("said n1 failed"));
}

}  // namespace
}  // namespace sickbay::patrol
