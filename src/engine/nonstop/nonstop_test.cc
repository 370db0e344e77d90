// SPDX-License-Identifier: Apache-2.0
#include "engine/nonstop/nonstop.h"

#include <gmock/gmock.h>

#include "engine/nonstop/nonstop_test_parts.h"

namespace sickbay::nonstop {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// --- faults

TEST(NonstopFaults, ANodeThatGoesDownFailsItsJobAtOnce) {
  World w;
  w.nodes("n2", "DOWN");
  EXPECT_EQ(w.has(), "n[1,3]");
  const auto a = w.ask(wire::Command::get_fail_nodes);
  ASSERT_EQ(w.again(a).reply.faulty.size(), 1u);
  EXPECT_EQ(w.again(a).reply.faulty[0].name, "n2");
  EXPECT_EQ(w.again(a).reply.faulty[0].cpus, 8u);
  EXPECT_EQ(w.of_job().credit(), 2);
  w.job(17, {"n1", "n3"});  // the list says so later, and nothing is told twice
  EXPECT_EQ(happenings_after(w.state, 17, 0).size(), 1u);
  w.expect_replay();
}

TEST(NonstopFaults, TheListMayComeBeforeTheNodesState) {
  World w;
  w.job(17, {"n1", "n3"});
  EXPECT_TRUE(w.of_job().faulty.empty());
  w.pass(2s);
  w.nodes("n2", "DOWN");
  EXPECT_TRUE(w.of_job().faulty.contains("n2"));
}

TEST(NonstopFaults, ANodeThatItsOwnerGaveUpIsNotFaulty) {
  World w;
  w.job(17, {"n1", "n3"});
  w.pass(2min);
  w.nodes("n2", "DOWN");
  EXPECT_TRUE(w.of_job().faulty.empty());
}

TEST(NonstopFaults, FailIsFailingWhileItIsShown) {
  World w;
  w.nodes("n2", "ALLOCATED+FAIL");
  EXPECT_EQ(w.of_job().faulty.at("n2").fault, NodeFault::failing);
  EXPECT_EQ(w.has(), "n[1-3]");
  EXPECT_EQ(w.of_job().credit(), 0) << "minutes come with its replacement";
  w.nodes("n2", "ALLOCATED");
  EXPECT_TRUE(w.of_job().faulty.empty());
}

TEST(NonstopFaults, ALookOfBeforeOurOwnChangeUndoesNothing) {
  World w;
  w.nodes("n2", "DOWN");
  w.replace({"n2"});
  const TimePoint before = w.now - 1s;
  w.done(World::donor({"n4"}));
  w.done(World::set({"n1", "n3", "n4"}));
  EXPECT_EQ(w.has(), "n[1,3-4]");
  w.job(17, {"n1", "n3"}, 60, before);
  EXPECT_EQ(w.has(), "n[1,3-4]");
}

// --- replacements

TEST(NonstopReplace, AFailedNode) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  EXPECT_EQ(w.code(a), "wait");
  EXPECT_TRUE(w.is_claimed());
  EXPECT_EQ(w.doing(), "allocate_donor");
  EXPECT_TRUE(w.open[0].args["immediate"].as_bool());
  EXPECT_THAT(w.open[0].args["exclude"].as_strings(), ElementsAre("n1", "n2", "n3"));
  w.done(World::donor({"n4"}));
  EXPECT_EQ(w.doing(), "give_donor");
  EXPECT_EQ(w.open[0].args["key"].as_string(), "j17@1700000000.q1.1d");
  w.done(World::set({"n1", "n3", "n4"}));
  EXPECT_EQ(w.doing(), "");
  EXPECT_EQ(w.code(a), "ENOERROR");
  const wire::Reply reply = w.again(a).reply;
  EXPECT_EQ(reply.replacement, "n4");
  EXPECT_EQ(reply.set.nodes, "n[1,3-4]");
  EXPECT_FALSE(w.is_claimed());
  EXPECT_TRUE(w.of_job().faulty.empty());
  // Who lost the answer asks again, and nothing is done.
  const auto once_more = w.replace({"n2"});
  EXPECT_EQ(w.code(once_more), "ENOERROR");
  EXPECT_EQ(w.again(once_more).reply.replacement, "n4");
  EXPECT_EQ(w.doing(), "");
  w.expect_replay();
}

TEST(NonstopReplace, AFailingNodeLeavesWhenItsReplacementHasJoined) {
  World w;
  w.nodes("n2", "ALLOCATED+FAIL");
  const auto a = w.replace({"n2"});
  w.done(World::donor({"n4"}));
  w.done(World::set({"n1", "n2", "n3", "n4"}));
  EXPECT_EQ(w.doing(), "drop_nodes");
  EXPECT_EQ(w.code(a), "wait");
  w.done(World::set({"n1", "n3", "n4"}));
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_EQ(w.of_job().credit(), 2);
}

TEST(NonstopReplace, IdleNodesThenSparesThenTheQueue) {
  World w;
  w.policy.config.hot_spares = {{"batch", 1}};
  w.pass(1s);
  w.nodes("n[8-9]", "IDLE");  // looked at closely now
  ASSERT_EQ(w.doing(), "set_spare_pool");
  EXPECT_THAT(w.open[0].args["nodes"].as_strings(), ElementsAre("n8"));
  w.done(Json::object());
  w.nodes("n8", "IDLE+RESERVED");
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  w.failed("busy");
  ASSERT_EQ(w.doing(), "allocate_donor");
  EXPECT_EQ(w.open[0].args["reservation"].as_string(), "HOT_SPARE_batch");
  EXPECT_THAT(w.open[0].args["node_list"].as_strings(), ElementsAre("n8"));
  w.failed("busy");
  ASSERT_EQ(w.doing(), "allocate_donor");
  EXPECT_FALSE(w.open[0].args["immediate"].as_bool());
  Json waits = World::donor({});
  waits.set("expected_start", to_micros(w.now + 1h));
  w.done(waits);
  EXPECT_EQ(w.code(a), "EREPLACELATER");
  EXPECT_EQ(w.again(a).reply.when, w.now + 1h);
  EXPECT_EQ(w.of_job().credit(), 12) << "2 for the failure and 10 for waiting";
  ASSERT_EQ(watched(w.state).size(), 1u);
  // Its donor begins.
  w.now += 150s;
  JobInfo info;
  info.job_id = 900;
  info.state = "RUNNING";
  info.nodes = "n5";
  w.say(new_event("j17", kJobSeen, Json::object({{"run", "j17.q1"}, {"job", info.to_json()}})));
  EXPECT_EQ(w.doing(), "give_donor");
  w.done(World::set({"n1", "n3", "n5"}));
  EXPECT_EQ(w.code(w.replace({"n2"})), "ENOERROR");
  EXPECT_EQ(w.of_job().credit(), 5) << "three minutes were begun";
  w.expect_replay();
}

TEST(NonstopReplace, ASpareThatComesBackEndsTheWait) {
  World w;
  w.policy.config.hot_spares = {{"batch", 1}};
  w.pass(1s);
  w.nodes("n8", "IDLE");
  w.done(Json::object());
  w.nodes("n8", "DOWN");
  w.open.clear();  // the pool is set without it; nothing idle is known
  w.nodes("n2", "DOWN");
  w.replace({"n2"});
  while (w.doing() != "allocate_donor" && !w.open.empty()) w.next();
  w.failed("busy");
  w.done(World::donor({}));
  EXPECT_EQ(w.doing(), "");
}

TEST(NonstopReplace, AnAnswerThatWasLostLeavesNoDonor) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  const std::string key = w.open[0].key;
  w.failed("timed_out");
  EXPECT_EQ(w.doing(), "cancel_donor");
  EXPECT_EQ(w.open[0].args["key"].as_string(), key.substr(0, key.find(':')));
  w.failed("slurm_away");
  EXPECT_EQ(w.doing(), "") << "it waits a little";
  EXPECT_EQ(w.code(a), "EREPLACELATER") << "and nobody hangs on it";
  w.pass(10s);
  EXPECT_EQ(w.doing(), "cancel_donor");
  w.done(Json::object());
  EXPECT_EQ(w.doing(), "allocate_donor");
  EXPECT_NE(w.open[0].key, key);
}

TEST(NonstopReplace, TheSpareDiesWhileItJoins) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  w.done(World::donor({"n4"}));
  w.nodes("n4", "DOWN");
  w.failed("not_found", "the donor is gone");
  EXPECT_EQ(w.doing(), "allocate_donor");
  w.done(World::donor({"n5"}));
  w.done(World::set({"n1", "n3", "n5"}));
  EXPECT_EQ(w.again(a).reply.replacement, "n5");
  EXPECT_TRUE(w.of_job().faulty.empty()) << "it never was the job's";
}

TEST(NonstopReplace, TheSpareDiesRightAfter) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  w.done(World::donor({"n4"}));
  w.done(World::set({"n1", "n3"}));  // it is gone before the job was read
  w.nodes("n4", "DOWN");
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_TRUE(w.of_job().faulty.contains("n4")) << "the job has lost another one";
  EXPECT_EQ(w.code(w.replace({"n4"})), "wait");
}

TEST(NonstopReplace, ANodeThatFailsItsDiagnosisDoesNotJoin) {
  World w;
  w.policy.examine = true;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  w.done(World::donor({"n4"}));
  EXPECT_EQ(w.doing(), "diagnose");
  w.done(Json::object({{"passed", false}}));
  EXPECT_EQ(w.doing(), "cancel_donor");
  w.done(Json::object());
  ASSERT_EQ(w.doing(), "allocate_donor");
  EXPECT_THAT(w.open[0].args["exclude"].as_strings(), ::testing::Contains("n4"));
  w.done(World::donor({"n5"}));
  EXPECT_EQ(w.doing(), "diagnose");
  w.pass(11s);
  EXPECT_EQ(w.doing(), "diagnose give_donor") << "who does not answer does not object";
  EXPECT_EQ(w.code(a), "wait");
}

TEST(NonstopReplace, ASecondFailureMeanwhile) {
  World w;
  w.nodes("n2", "DOWN");
  w.replace({"n2"});
  w.nodes("n3", "DOWN");
  const auto second = w.replace({"n3"});
  EXPECT_EQ(w.code(second), "EREPLACEPENDING");
  EXPECT_EQ(w.again(second).reply.node, "n2");
  w.done(World::donor({"n4"}));
  w.done(World::set({"n1", "n4"}));
  EXPECT_EQ(w.code(w.replace({"n3"})), "wait");
  EXPECT_EQ(w.doing(), "allocate_donor");
}

TEST(NonstopReplace, SeveralNodesAllOrNothing) {
  World w;
  w.nodes("n[2-3]", "DOWN");
  const auto a = w.replace({"n2", "n3"});
  EXPECT_EQ(w.open[0].args["nodes"].as_int(), 2);
  EXPECT_EQ(w.open[0].args["cpus"].size(), 2u);
  w.done(World::donor({"n4", "n5"}));
  w.done(World::set({"n1", "n4", "n5"}));
  EXPECT_EQ(w.again(a).reply.replacement, "n[4-5]");
  EXPECT_EQ(w.of_job().replaced_count, 2);
}

TEST(NonstopReplace, TheJobEndsWhileItWaits) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  w.failed("busy");
  w.done(World::donor({}));
  w.over(17);
  EXPECT_EQ(w.doing(), "cancel_donor");
  EXPECT_EQ(w.code(a), "EJOBNOTRUN");
  w.done(Json::object());
  ASSERT_TRUE(w.state.jobs.contains(17)) << "its streams are told first";
  EXPECT_EQ(w.of_job().happenings.back().what, Happening::What::ended);
  EXPECT_FALSE(w.is_claimed());
  EXPECT_EQ(w.code(a), "EJOBNOTRUN");
  w.pass(2s);
  EXPECT_FALSE(w.state.jobs.contains(17));
  EXPECT_EQ(w.log.back().kind, kNonstopClosed);
  EXPECT_EQ(w.code(a), "EJOBNOTRUN");
  w.expect_replay();
}

TEST(NonstopReplace, ARequeueIsAnotherJob) {
  World w;
  w.nodes("n2", "DOWN");
  w.job(17, {"n4", "n5"}, 60, kNoTime, "", 0, 1'700'009'999);
  w.pass(2s);
  EXPECT_FALSE(w.state.jobs.contains(17));
  w.job(17, {"n4", "n5"}, 60, kNoTime, "", 0, 1'700'009'999);
  EXPECT_TRUE(w.of_job().faulty.empty());
}

TEST(NonstopReplace, AnotherEnginesClaimIsWaitedFor) {
  World w;
  w.say(cluster::Claims::claimed({.on = "job:17", .holder = "identify", .by = "c1", .reason = "x"}));
  w.nodes("n2", "DOWN");
  w.replace({"n2"});
  EXPECT_EQ(w.doing(), "");
  w.say(cluster::Claims::released("job:17", "identify", "done"));
  w.pass(0s);
  EXPECT_EQ(w.doing(), "allocate_donor");
}

TEST(NonstopReplace, GivenUpAfterTenDonorsThatDied) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.replace({"n2"});
  for (int i = 0; i < 10; ++i) {
    w.done(World::donor({"n4"}));
    w.failed("not_found");
  }
  EXPECT_EQ(w.doing(), "");
  EXPECT_EQ(w.code(a), "ENODEREPLACEFAIL");
}

// --- drops

TEST(NonstopDrop, OfAFailedNodeIsDoneAtOnce) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.drop({"n2"});
  EXPECT_EQ(w.doing(), "");
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_EQ(w.again(a).reply.set.nodes, "n[1,3]");
  EXPECT_EQ(w.of_job().credit(), 30) << "in the place of the 2";
  EXPECT_EQ(w.code(w.drop({"n2"})), "ENOERROR");
  EXPECT_EQ(w.of_job().credit(), 30);
}

TEST(NonstopDrop, CancelsTheReplacementThatWaits) {
  World w;  // the paper's Figure 3
  w.nodes("n2", "DOWN");
  const auto waits = w.replace({"n2"});
  w.failed("busy");
  w.done(World::donor({}));
  const auto a = w.drop({"n2"});
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_EQ(w.doing(), "cancel_donor");
  EXPECT_EQ(w.of_job().credit(), 30) << "minutes for waiting are taken back";
  w.done(Json::object());
  EXPECT_FALSE(w.is_claimed());
  EXPECT_EQ(w.code(waits), "ENODEREPLACEFAIL");
  const auto more = w.extend(0);
  EXPECT_EQ(w.open[0].args["minutes"].as_int(), 90);
  w.done(Json::object({{"minutes", 90}}));
  EXPECT_EQ(w.code(more), "ENOERROR");
  EXPECT_EQ(w.of_job().credit(), 0);
}

TEST(NonstopDrop, WaitsForWhatIsJoining) {
  World w;
  w.nodes("n2", "DOWN");
  const auto replaced = w.replace({"n2"});
  w.done(World::donor({"n4"}));
  const auto a = w.drop({"n2"});
  EXPECT_EQ(w.code(a), "wait");
  w.done(World::set({"n1", "n3", "n4"}));
  EXPECT_EQ(w.code(replaced), "ENOERROR");
  EXPECT_EQ(w.code(a), "ENODENOTFAIL");
}

TEST(NonstopDrop, ThatSlurmRefuses) {
  World w;
  w.nodes("n2", "ALLOCATED+FAIL");
  const auto a = w.drop({"n2"});
  EXPECT_EQ(w.doing(), "drop_nodes");
  w.failed("conflict", "its batch script runs there");
  EXPECT_EQ(w.code(a), "EJOBUPDATE");
  EXPECT_THAT(w.again(a).reply.why, HasSubstr("batch script"));
}

// --- time

TEST(NonstopTime, ALostAnswerDoesNotExtendTwice) {
  World w;
  w.nodes("n[2-3]", "DOWN");
  const auto a = w.extend(3);
  EXPECT_EQ(w.open[0].args["minutes"].as_int(), 63);
  w.failed("timed_out");
  w.now += 1s;
  w.job(17, {"n1"}, 63);  // it was done
  w.pass(10s);
  ASSERT_EQ(w.doing(), "set_time_limit");
  EXPECT_EQ(w.open[0].args["minutes"].as_int(), 63);
  w.done(Json::object({{"minutes", 63}}));
  EXPECT_EQ(w.code(a), "ENOERROR");
  EXPECT_EQ(w.of_job().credit(), 1);
}

TEST(NonstopTime, TwoAtOnceSpendNoMinuteTwice) {
  World w;
  w.nodes("n2", "DOWN");
  const auto a = w.extend(0);
  const auto b = w.extend(0);
  EXPECT_EQ(w.code(b), "ENOINCREASETIMELIMIT");
  w.failed("refused_by_slurm", "no");
  EXPECT_EQ(w.code(a), "EJOBUPDATE");
  EXPECT_EQ(w.of_job().credit(), 2) << "given back";
}

TEST(NonstopTime, AJobWithoutALimitNeedsNone) {
  World w;
  w.job(17, {"n1", "n2", "n3"}, 0);
  w.nodes("n2", "DOWN");
  EXPECT_EQ(w.code(w.extend(1)), "ENOERROR");
  EXPECT_EQ(w.doing(), "");
}

// --- spares

TEST(NonstopSpares, ALostSpareIsReplacedByAnIdleNode) {
  World w;
  w.policy.config.hot_spares = {{"batch", 2}};
  w.pass(1s);
  EXPECT_TRUE(looked_at(w.cluster, w.state, w.policy).contains("n5"));
  w.nodes("n[4-9]", "IDLE");
  EXPECT_THAT(w.open[0].args["nodes"].as_strings(), ElementsAre("n4", "n5"));
  w.done(Json::object());
  EXPECT_TRUE(looked_at(w.cluster, w.state, w.policy).empty());
  w.nodes("n[4-5]", "IDLE+RESERVED");
  w.nodes("n4", "DOWN");
  EXPECT_THAT(w.next().args["nodes"].as_strings(), ElementsAre("n5")) << "it leaves at once";
}

TEST(NonstopSpares, AnOperatorSaysHowMany) {
  World w;
  w.say(new_event(std::string(kSpares), kSparesAsked,
                  Json::object({{"partition", "batch"}, {"count", 1}, {"by", "root"}})));
  w.nodes("n[8-9]", "IDLE");
  EXPECT_THAT(w.open[0].args["nodes"].as_strings(), ElementsAre("n8"));
  w.failed("busy", "in use");
  EXPECT_EQ(w.doing(), "");
  w.pass(60s);
  EXPECT_EQ(w.doing(), "") << "a job has taken it, most likely: which node is idle is seen first";
  w.nodes("n8", "ALLOCATED");
  w.nodes("n9", "IDLE");
  EXPECT_THAT(w.next().args["nodes"].as_strings(), ElementsAre("n9"));
}

// --- FAIL

TEST(NonstopFail, AUserCallsANodeOfHisFailing) {
  World w;
  w.policy.config.drain_allow.names = {"alice"};
  const auto a = w.ask(wire::Command::drain, {"n2"});
  EXPECT_EQ(w.code(a), "wait");
  EXPECT_EQ(w.doing(), "fail_node");
  EXPECT_TRUE(w.cluster.claims.keeps_out("n2", w.now));
  w.done(Json::object());
  EXPECT_EQ(w.code(a), "ENOERROR");
  w.nodes("n2", "ALLOCATED+FAIL");
  EXPECT_TRUE(w.of_job().faulty.contains("n2"));
  w.nodes("n2", "IDLE");
  EXPECT_FALSE(w.cluster.claims.keeps_out("n2", w.now)) << "somebody has put it back";
}

TEST(NonstopFail, TheBreakerAndOtherEnginesSayNo) {
  World w;
  w.policy.config.drain_allow.all = true;
  w.ask(wire::Command::drain, {"n1"});
  EXPECT_EQ(w.code(w.ask(wire::Command::drain, {"n2"})), "EUPDNODE") << "one of nine nodes in an hour";
  World other;
  other.policy.config.drain_allow.all = true;
  other.say(cluster::Claims::claimed(
      {.on = "node:n2", .holder = "drain", .by = "node:n2", .reason = "x", .out = true}));
  EXPECT_EQ(other.code(other.ask(wire::Command::drain, {"n2"})), "EUPDNODE");
}

}  // namespace
}  // namespace sickbay::nonstop
