// SPDX-License-Identifier: Apache-2.0
// Nodes on which whatever starts fails: a round that nobody asked for, or the first place in one that is
// open.
#include <gmock/gmock.h>

#include "engine/patrol/patrol_test_parts.h"
#include "model/ids.h"

namespace sickbay::patrol {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void suspect(World& w, const std::string& node) {
  w.take(
      new_event(node_subject(node), kBlackHoleSuspected, Json::object({{"sentence", node + " eats jobs"}})));
  w.settle();
}

// One for whom the jobs of user `uid` alone speak.
void suspect_for_one(World& w, const std::string& node, int uid) {
  w.take(new_event(node_subject(node), kBlackHoleSuspected,
                   Json::object({{"sentence", node + " eats jobs"}, {"uid", uid}})));
  w.settle();
}

// The open round ends.
void ends(World& w) {
  w.take(new_event(w.state.open()->name(), kPatrolClosed, Json::object({{"why", "it is over"}})));
  w.settle();
}

// The round is open, and Slurm was asked who waits.
World with_suspect(const std::string& node) {
  World w;
  suspect(w, node);
  w.queue(Json::array());
  w.settle();
  return w;
}

TEST(PatrolSuspects, ARoundIsOpenedForItAndOneMore) {
  World w = with_suspect("n7");
  ASSERT_EQ(w.of_kind(kPatrolAsked).size(), 1U);
  const Json& asked = w.of_kind(kPatrolAsked)[0]->body;
  EXPECT_EQ(asked["by"].as_string(), "sickbayd");
  EXPECT_EQ(asked["suspects"].as_string(), "n7");
  EXPECT_EQ(asked["why"].as_string(), "n7 eats jobs");
  EXPECT_EQ(w.claims(), "n[7,10]") << "the last one is what Slurm takes last";
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  EXPECT_THAT(w.commands[0].args["nodes"].as_strings(), ElementsAre("n7"));
  w.look("n[1-10]");
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit", "p1.v2:submit"));
  EXPECT_THAT(w.commands[1].args["nodes"].as_strings(), ElementsAre("n10"));
  w.speaks("p1.v2", {{"n10", "ok"}});
  w.speaks("p1.v1", {{"n7", "failed"}});
  ASSERT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
  EXPECT_EQ(w.of_kind(kPatrolBlames)[0]->body["faulty"].items().at(0)["node"].as_string(), "n7");
  EXPECT_EQ(w.state.rounds.at(1).why, "all nodes are done");
  EXPECT_EQ(w.claims(), "");
}

// Nobody looks first and no queue is asked about: each second costs a job.
TEST(PatrolSuspects, VOnItBeginsAtOnceAndBeforeAllOthers) {
  World w;
  w.queue(Json::array({"batch"}));
  w.nodes("n[1-10]", "ALLOCATED", false);
  suspect(w, "n7");
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  EXPECT_FALSE(w.commands[0].args["last"].as_bool());
  EXPECT_GT(w.commands[0].args["hold_s"].as_int(), 0);
  w.submitted("p1.v1");
  ASSERT_NE(w.find("p1.v1:release"), nullptr);
  EXPECT_TRUE(w.find("p1.v1:release")->args["first"].as_bool());
  // And jobs that wait do not end it.
  w.queue(Json::array({"batch"}));
  w.settle();
  EXPECT_EQ(w.find("p1.v1:cancel"), nullptr);
  // The other one is behind them all, as ever.
  EXPECT_EQ(w.standing("n10"), "wanted");
  w.queue(Json::array());
  w.nodes("n[1-6,8-10]", "IDLE", true);
  w.settle();
  w.look("n10");
  ASSERT_NE(w.find("p1.v2:submit"), nullptr);
  EXPECT_TRUE(w.find("p1.v2:submit")->args["last"].as_bool());
  EXPECT_FALSE(w.find("p1.v2:submit")->args.has("hold_s"));
}

// It was taken with others, as an idle one: now it goes alone, and holds nobody else.
TEST(PatrolSuspects, OneThatIsClaimedWithOthersGoesAlone) {
  World w;
  w.ask();
  w.settle();
  EXPECT_EQ(w.claims(), "n[1-2]");
  suspect(w, "n2");
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  EXPECT_THAT(w.commands[0].args["nodes"].as_strings(), ElementsAre("n2"));
  EXPECT_GT(w.commands[0].args["hold_s"].as_int(), 0);
  w.look("n[1-10]");
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit", "p1.v2:submit"));
  EXPECT_THAT(w.commands[1].args["nodes"].as_strings(), ElementsAre("n1"));
  EXPECT_TRUE(w.commands[1].args["last"].as_bool());
}

// Each has a V of its own: one that a long job keeps is none that the others wait for.
TEST(PatrolSuspects, TwoAreTwoRuns) {
  World w;
  w.ask("n1");
  w.settle();
  suspect(w, "n7");
  suspect(w, "n8");
  w.look("n[1-10]");
  w.speaks("p1.v1", {{"n1", "ok"}});
  ASSERT_EQ(w.of_kind(kPatrolAsked).size(), 2U);
  EXPECT_THAT(w.find("p2.v1:submit")->args["nodes"].as_strings(), ElementsAre("n7"));
  EXPECT_THAT(w.find("p2.v2:submit")->args["nodes"].as_strings(), ElementsAre("n8"));
}

TEST(PatrolSuspects, WhereVFindsNothingTheRoundIsOver) {
  World w = with_suspect("n7");
  w.look("n[1-10]");
  w.speaks("p1.v2", {{"n10", "ok"}});
  w.speaks("p1.v1", {{"n7", "ok"}});
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
  EXPECT_FALSE(w.state.rounds.at(1).open());
}

// V alone on it proves nothing, as long as V has passed nowhere: then another node shows that V is sound.
TEST(PatrolSuspects, OneThatFailsAloneIsBlamedWhenVHasPassedElsewhere) {
  World w;
  w.nodes("n[1-6,8-10]", "ALLOCATED", false);
  suspect(w, "n7");
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n7");
  w.speaks("p1.v1", {{"n7", "failed"}});
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
  EXPECT_EQ(w.standing("n1"), "busy");
  w.nodes("n4", "IDLE", true);
  w.settle();
  EXPECT_EQ(w.claims(), "n4");
  w.look("n4");
  w.speaks("p1.v2", {{"n4", "ok"}});
  EXPECT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
  EXPECT_FALSE(w.state.rounds.at(1).open());
}

// Something is away everywhere since a moment ago: that V passed elsewhere yesterday clears nobody of that.
TEST(PatrolSuspects, APassOfBeforeProvesNothing) {
  World w;
  w.state.nodes["n2"] = {.passed_at = w.now, .said_at = w.now, .by = "p0.v1", .result = "ok", .reason = ""};
  w.now += minutes(10);
  suspect(w, "n7");
  w.queue(Json::array());
  w.settle();
  w.look("n[1-10]");
  w.speaks("p1.v2", {{"n10", "failed"}});
  w.speaks("p1.v1", {{"n7", "failed"}});
  for (const auto& [run, node] : {std::pair("p1.v3", "n9"), {"p1.v4", "n8"}, {"p1.v5", "n6"}}) {
    EXPECT_EQ(w.claims(), node);
    w.look("n[1-10]");
    w.speaks(run, {{node, "failed"}});
  }
  EXPECT_THAT(w.of_kind(kPatrolBlames), IsEmpty());
  EXPECT_EQ(w.state.rounds.at(1).why, "its budget is spent");
}

// Somebody ended V on it twice: there is still room for the one that shows that V is sound.
TEST(PatrolSuspects, WhatWasEndedLeavesRoomForTheOther) {
  World w;
  w.nodes("n[1-6,8-10]", "ALLOCATED", false);
  suspect(w, "n7");
  w.queue(Json::array());
  w.settle();
  for (const std::string run : {"p1.v1", "p1.v2"}) {
    w.submitted(run);
    w.job(run, "RUNNING", w.now);
    w.job(run, "CANCELLED", w.now);
  }
  w.speaks("p1.v3", {{"n7", "failed"}});
  EXPECT_TRUE(w.state.rounds.at(1).open());
  w.nodes("n4", "IDLE", true);
  w.settle();
  w.look("n4");
  w.speaks("p1.v4", {{"n4", "ok"}});
  EXPECT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
}

// Its jobs begin and die all the while: it is idle for moments only.
TEST(PatrolSuspects, ItNeedNotBeIdle) {
  World w;
  w.nodes("n7", "ALLOCATED", false);
  suspect(w, "n7");
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[7,10]");
  w.nodes("n[1-6,8-10]", "IDLE", true);
  w.nodes("n7", "ALLOCATED", false);
  w.settle();
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit", "p1.v2:submit"));
}

// A job that lives there: V waits for a minute, three times, and that was all.
TEST(PatrolSuspects, OneThatIsNotFreeIsGivenUp) {
  World w;
  w.nodes("n[1-10]", "ALLOCATED", false);
  suspect(w, "n7");
  for (int i = 1; i <= 3; ++i) {
    const std::string run = "p1.v" + std::to_string(i);
    ASSERT_NE(w.find(run + ":submit"), nullptr) << i;
    w.submitted(run);
    w.now += seconds(61);
    w.settle();
    ASSERT_NE(w.find(run + ":cancel"), nullptr) << i;
    w.done(run + ":cancel", std::string(verb::kCancel));
    w.job(run, "CANCELLED", kNoTime);
  }
  EXPECT_FALSE(w.state.rounds.at(1).open()) << w.standing("n7");
  EXPECT_EQ(w.commands.size(), 9U) << "three of each";
}

TEST(PatrolSuspects, ThatIsOutNeedsNoRound) {
  World w;
  w.nodes("n7", "IDLE+DRAIN", false);
  suspect(w, "n7");
  EXPECT_THAT(w.of_kind(kPatrolAsked), IsEmpty());
  w.nodes("n7", "IDLE", true);
  w.settle();
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 1U);
}

TEST(PatrolSuspects, ASiteMayTurnItOff) {
  World w;
  w.policy.suspects = false;
  suspect(w, "n7");
  EXPECT_THAT(w.of_kind(kPatrolAsked), IsEmpty());
}

// What jobs came to has told before a round could be opened.
TEST(PatrolSuspects, ABlackHoleIsOneNoMore) {
  for (const std::string_view told : {kBlackHole, kBlackHoleOver}) {
    World w;
    w.ask("n1");  // somebody's round, which is not about it
    w.settle();
    suspect(w, "n7");
    EXPECT_EQ(w.state.suspects.count("n7"), 1U);
    w.take(new_event("node:n7", std::string(told), Json::object()));
    EXPECT_EQ(w.state.suspects.count("n7"), 0U);
  }
}

TEST(PatrolSuspects, InAnOpenRoundItGoesFirstThoughItWasVerifiedToday) {
  World w;
  w.state.nodes["n7"] = {.passed_at = w.now, .said_at = w.now, .by = "c1.v1", .result = "ok", .reason = ""};
  w.ask();
  EXPECT_EQ(w.standing("n7"), "fresh");
  suspect(w, "n7");
  EXPECT_EQ(w.claims(), "n[1,7]") << "and the others are not kept from their turn";
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 1U) << "no round of its own";
}

TEST(PatrolSuspects, OneAfterAnother) {
  World w;
  w.ask("n1");
  w.settle();
  suspect(w, "n7");
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 1U) << "a round that is not about it is open";
  w.look("n[1-10]");
  w.speaks("p1.v1", {{"n1", "ok"}});
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 2U);
  EXPECT_TRUE(w.state.rounds.at(2).for_suspects);
  // Not more than three in ten minutes, whatever jobs do.
  for (int no = 2; no <= 4; ++no) {
    w.take(new_event("p" + std::to_string(no), kPatrolClosed, Json::object({{"why", "all nodes are done"}})));
    suspect(w, "n8");
  }
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 4U);
  EXPECT_EQ(decide_opening(w.cluster, w.state, w.policy, w.now).wake_at,
            w.state.rounds.at(2).asked_at + minutes(10));
  w.now += minutes(10);
  w.settle();
  EXPECT_EQ(w.of_kind(kPatrolAsked).size(), 5U);
}

// A round that found one at fault is none of those three.
TEST(PatrolSuspects, WhoWasRightMayGoOn) {
  World w;
  for (int no = 1; no <= 6; ++no) {
    suspect(w, "n8");
    ASSERT_EQ(w.of_kind(kPatrolAsked).size(), static_cast<std::size_t>(no));
    const std::string round = "p" + std::to_string(no);
    const auto blames = [&] {
      w.take(new_event(
          round, kPatrolBlames,
          Json::object({{"run", round + ".v1"}, {"faulty", Json::array({Json::object({{"node", "n8"}})})}})));
    };
    const auto closed = [&] { w.take(new_event(round, kPatrolClosed, Json::object({{"why", "done"}}))); };
    // By V, or by jobs: before it is over, or after.
    if (no % 3 == 0) blames(), closed();
    if (no % 3 == 1) closed(), w.take(new_event("node:n8", kBlackHole, Json::object()));
    if (no % 3 == 2) w.take(new_event("node:n8", kBlackHole, Json::object())), closed();
    EXPECT_THAT(w.state.rounds.at(no).proven, ElementsAre("n8")) << no;
  }
}

// The one beside it is of its partition, and need not fit under the breaker.
TEST(PatrolSuspects, StandsInItsOwnPartition) {
  World w;
  w.nodes("n[6-10]", "IDLE", true, "long");
  suspect(w, "n7");
  w.queue(Json::array());
  w.settle();
  EXPECT_EQ(w.claims(), "n[7,10]") << "though a fifth of five nodes is one";
  EXPECT_EQ(w.commands.at(0).args["partition"].as_string(), "long");
}

TEST(PatrolSuspects, MoreThanV) {
  World w;
  w.policy.together = 2;
  w.ask("n1");
  w.settle();
  for (int i = 2; i <= 10; ++i) suspect(w, "n" + std::to_string(i));
  w.look("n[1-10]");
  w.speaks("p1.v1", {{"n1", "ok"}});
  ASSERT_EQ(w.of_kind(kPatrolAsked).size(), 2U);
  EXPECT_EQ(w.of_kind(kPatrolAsked)[1]->body["suspects"].as_string(), "n[2,10]") << "so many as one V has";
  EXPECT_EQ(w.state.suspects.size(), 7U);
}

TEST(PatrolSuspects, AReplayGivesTheSame) {
  World w = with_suspect("n7");
  suspect(w, "n8");
  w.look("n[1-10]");
  w.speaks("p1.v1", {{"n7", "failed"}});
  World again;
  again.state = State();
  for (const Event& event : w.journal) {
    if (event.kind == kNodesSeen && &event == &w.journal.front()) continue;  // its own beginning
    cluster::apply(again.cluster, event);
    apply(again.state, again.cluster.view, event);
  }
  EXPECT_EQ(canonical_text(again.state), canonical_text(w.state));
}

// --- for whom one user's jobs alone speak

TEST(PatrolSuspects, OfOneUserHaveARoundOfTheirOwn) {
  World w;
  w.ask("n[1-10]");
  w.settle();
  suspect_for_one(w, "n7", 1000);
  EXPECT_FALSE(w.state.open()->is_suspect("n7")) << "whoever asked does not wait for it";
  ends(w);
  ASSERT_EQ(w.of_kind(kPatrolAsked).size(), 2U);
  EXPECT_EQ(w.of_kind(kPatrolAsked)[1]->body["suspects"].as_string(), "n7");
  EXPECT_EQ(w.of_kind(kPatrolAsked)[1]->body["uid"].as_int(), 1000);
  EXPECT_TRUE(w.state.suspects.empty());
}

TEST(PatrolSuspects, OneUserHasOneRoundInTenMinutesAndAllSuchUsersThree) {
  World w;
  const auto rounds = [&] { return w.of_kind(kPatrolAsked).size(); };
  suspect_for_one(w, "n1", 1000);
  ends(w);
  suspect_for_one(w, "n2", 1000);
  EXPECT_EQ(rounds(), 1U) << "his second one waits";
  suspect_for_one(w, "n3", 1000);
  EXPECT_EQ(w.state.suspects.size(), 1U) << "and he has one place to wait in";
  for (const int uid : {1001, 1002, 1003}) {
    suspect_for_one(w, "n" + std::to_string(uid - 996), uid);
    if (w.state.open() != nullptr) ends(w);
  }
  EXPECT_EQ(rounds(), 3U) << "of 1003 there is none yet";
  // Others do not wait for them.
  suspect(w, "n9");
  ASSERT_EQ(rounds(), 4U);
  EXPECT_FALSE(w.of_kind(kPatrolAsked)[3]->body.has("uid"));
  ends(w);
  w.now += minutes(10);
  w.settle();
  EXPECT_EQ(rounds(), 5U);
  EXPECT_EQ(w.of_kind(kPatrolAsked)[4]->body["suspects"].as_string(), "n3") << "it has waited for longest";
}

// A full cluster has no node for another V; but the user's own jobs pass elsewhere, so not everything is
// away.
TEST(PatrolSuspects, OfOneUserThatVPassedElsewhereTodayIsEnough) {
  World w;
  w.state.nodes["n2"] = {.passed_at = w.now, .said_at = w.now, .by = "p0.v1", .result = "ok", .reason = ""};
  w.now += minutes(10);
  w.queue(Json::array({"batch"}));
  w.nodes("n[1-10]", "ALLOCATED", false);
  suspect_for_one(w, "n7", 1000);
  ASSERT_THAT(w.keys(), ElementsAre("p1.v1:submit"));
  w.speaks("p1.v1", {{"n7", "failed"}});
  EXPECT_EQ(w.of_kind(kPatrolBlames).size(), 1U);
  EXPECT_FALSE(w.state.rounds.at(1).open());
}

// As soon as others' jobs die there, too, it is a suspect as any other.
TEST(PatrolSuspects, OfOneUserBecomesOneOfSeveral) {
  World w;
  suspect_for_one(w, "n1", 1000);
  ends(w);
  suspect_for_one(w, "n2", 1000);
  suspect(w, "n2");
  ASSERT_EQ(w.of_kind(kPatrolAsked).size(), 2U);
  EXPECT_EQ(w.of_kind(kPatrolAsked)[1]->body["suspects"].as_string(), "n2");
  EXPECT_FALSE(w.of_kind(kPatrolAsked)[1]->body.has("uid"));
  suspect_for_one(w, "n2", 1001);
  EXPECT_TRUE(w.state.open()->is_suspect("n2"));
}

TEST(PatrolSuspects, OneUserFillsNoRoomOfOthers) {
  World w;
  w.ask("n1");
  w.settle();
  for (int uid = 1000; uid < 1400; ++uid) suspect_for_one(w, "n" + std::to_string(2 + uid % 9), uid);
  EXPECT_LE(w.state.suspects.size(), 16U);
  suspect(w, "n7");
  ends(w);
  EXPECT_EQ(w.of_kind(kPatrolAsked)[1]->body["suspects"].as_string(), "n7");
}

}  // namespace
}  // namespace sickbay::patrol
