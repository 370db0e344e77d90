// SPDX-License-Identifier: Apache-2.0
// Recoveries, told to the engine as the journal would: each class of faults of the paper (4.1) to its end,
// and what comes between.
#include "engine/recover/recover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/recover/recover_world.h"

namespace sickbay::recover {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Recover : public ::testing::Test, protected World {
 protected:
  // Whatever happened, a replay gives the same.
  void TearDown() override { EXPECT_EQ(replayed(), canonical_text(state)); }

  void slurmd_hangs(std::int64_t no = 1) { opened(no, by_alice(FaultClass::component, "n3", "slurmd")); }
};

// --- a single node: the component, then what it needs, then the node

TEST_F(Recover, AComponentsRestartThatCures) {
  slurmd_hangs();
  EXPECT_THAT(kinds_of("r1"), ElementsAre("recovery_opened", "recovery_planned", "intent"));
  EXPECT_THAT(keys(), ElementsAre("r1.s1 restart_component"));
  EXPECT_EQ(find("r1.s1")->args.dump(),
            R"({"step":1,"cell":0,"node":"n3","components":["slurmd"],"check":"slurmd"})");
  EXPECT_TRUE(find("r1.s1")->draws.empty()) << "the node stays in service";
  ASSERT_NE(claim("node:n3"), nullptr);
  EXPECT_FALSE(claim("node:n3")->out);
  now += 20s;
  restarted("r1.s1", true, 4);
  EXPECT_EQ(end(1), "cured: the restart of n3/slurmd cured it");
  EXPECT_EQ(claim("node:n3"), nullptr) << "what is closed holds nothing";
  EXPECT_EQ(state.rates.mttr("n3/slurmd"), 20s);
  EXPECT_EQ(state.rates.restart_time("n3/slurmd", "component slurmd"), 4s);
  EXPECT_EQ(state.rates.record("n3/slurmd")->cures.at("component slurmd"), (Cures{1, 1}));
  EXPECT_EQ(state.rates.record("n3/slurmd")->failures, 1);
}

TEST_F(Recover, ThePlanIsInTheJournalBeforeAnythingIsDone) {
  slurmd_hangs();
  const Plan& plan = recovery(1).plan;
  std::vector<std::string> cells;
  for (const PlannedCell& cell : plan.path) cells.push_back(cell.cell);
  EXPECT_THAT(cells, ElementsAre("n3/slurmd", "n3/munged+slurmd", "n3", "cluster"));
  EXPECT_EQ(plan.path[0].takes, 10s);
  EXPECT_DOUBLE_EQ(plan.path[0].cures, 0.75);
  EXPECT_EQ(plan.path[1].takes, 15s);
  EXPECT_EQ(plan.path[3].left_to_people, "a person's word");
  EXPECT_EQ(plan.start, 0);
  EXPECT_GT(plan.expected, 10s);
  EXPECT_THAT(of_kind(kRecoveryPlanned)[0], HasSubstr(R"("acts":true)"));
}

TEST_F(Recover, UpToTheNodeWhichTheDrainEngineRestarts) {
  slurmd_hangs();
  restarted("r1.s1", false);
  EXPECT_EQ(find("r1.s2")->args["components"].dump(), R"(["munged","slurmd"])")
      << "in the order of their needs";
  restarted("r1.s2", false);
  EXPECT_THAT(of_kind(kLeaveWanted),
              ElementsAre(R"({"step":3,"cell":2,"node":"n3","action":"reboot","text":"slurmd: it hangs"})"));
  EXPECT_EQ(claim("node:n3"), nullptr) << "the drain engine needs it";
  EXPECT_THAT(looked_at(state), ElementsAre(std::pair<const std::string, std::int64_t>("n3", 0)));
  reboots("n3");
  EXPECT_EQ(find("r1.s3:check")->args.dump(), R"({"node":"n3","components":["slurmd"]})");
  checked("r1.s3:check", true);
  EXPECT_EQ(end(1), "cured: the restart of n3 cured it");
  EXPECT_THAT(looked_at(state), IsEmpty());
  EXPECT_EQ(state.rates.restart_time("n3", "node"), 120s) << "the boot, not the wait before it";
  EXPECT_EQ(state.rates.record("n3")->cures.at("component slurmd"), (Cures{1, 1}));
  EXPECT_EQ(state.rates.record("n3/slurmd")->cures.at("component slurmd"), (Cures{1, 0}));
}

TEST_F(Recover, WhatNoRestartOfOursCuresIsAPersons) {
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  reboots("n3");
  checked("r1.s3:check", false);
  EXPECT_EQ(end(1), "given_up: no restart that is ours has cured it: a person must look");
  EXPECT_FALSE(state.rates.mttr("n3/slurmd")) << "it has not come to its end";
}

TEST_F(Recover, StepsHaveABound) {
  policy.most_steps = 2;
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  EXPECT_EQ(end(1), "given_up: 2 restarts have not cured it: a person must look");
  EXPECT_THAT(of_kind(kLeaveWanted), IsEmpty());
}

TEST_F(Recover, ANodeAsAWhole) {
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_THAT(commands, IsEmpty());
  reboots("n3");
  EXPECT_EQ(find("r1.s1:check")->args.dump(), R"({"node":"n3","components":[]})")
      << "all that can be looked at";
  checked("r1.s1:check", true);
  EXPECT_EQ(end(1), "cured: the restart of n3 cured it");
}

TEST_F(Recover, NodesThatDependOnEachOtherAreRestartedTogether) {
  policy.breaker.most_percent = policy.breaker.most_out_percent = 50;
  depend({{"n3", "n4"}});
  opened(1, by_alice(FaultClass::node, "n4"));
  EXPECT_EQ(recovery(1).plan.path[0].cell, "n[3-4]");
  EXPECT_EQ(of_kind(kLeaveWanted).size(), 2u);
  reboots("n3");
  EXPECT_EQ(find("r1.s1:check"), nullptr) << "n4 is not back yet";
  reboots("n4");
  checked("r1.s1:check", true);
  EXPECT_EQ(end(1), "cured: the restart of n[3-4] cured it");
}

TEST_F(Recover, WhatTheSiteDeclaresIsAFactOfTheJournal) {
  depend({{"n3", "n4"}, {"n6", "n7", "n8"}});
  EXPECT_THAT(of_kind(kNodesDepend), ElementsAre(R"({"sets":["n[3-4]","n[6-8]"],"by":"the configuration"})"));
  EXPECT_EQ(state.dependent, policy.dependent);
  depend({{"n3", "n4"}, {"n6", "n7", "n8"}});
  EXPECT_EQ(of_kind(kNodesDepend).size(), 1u) << "said once";
  depend({});
  EXPECT_THAT(of_kind(kNodesDepend), ElementsAre(::testing::_, R"({"sets":[],"by":"the configuration"})"));
  EXPECT_EQ(replayed(), canonical_text(state));
}

// --- a parallel job: the node alone, else its domain, else the group

TEST_F(Recover, AJobThatGoesOnWithoutTheNode) {
  opened(1, of_job(true));
  EXPECT_EQ(recovery(1).plan.path.front().cell, "n3");
  EXPECT_EQ(recovery(1).plan.start, 0);
  reboots("n3");
  checked("r1.s1:check", true);
  EXPECT_EQ(end(1), "cured: the restart of n3 cured it");
}

TEST_F(Recover, AJobsDomainAndThenItsGroup) {
  opened(1, of_job(false, {{"n2", "n3"}, {"n4", "n5"}}));
  const Plan& plan = recovery(1).plan;
  EXPECT_EQ(plan.path[0].left_to_people, "the job does not go on while one of its nodes is restarted alone");
  EXPECT_EQ(plan.path[1].cell, "job:17/d1");
  EXPECT_EQ(plan.path[2].cell, "job:17");
  ASSERT_EQ(plan.start, 1);
  EXPECT_EQ(find("r1.s1")->verb, "requeue_job");
  EXPECT_EQ(
      find("r1.s1")->args.dump(),
      R"({"step":1,"cell":1,"job_id":17,"uid":1001,"restart_cnt":2,"level":"domain","nodes":["n2","n3"]})");
  ASSERT_NE(claim("job:17"), nullptr);
  done("r1.s1", Json::object({{"requeued", false}, {"said", "the job has no such step"}}));
  EXPECT_EQ(find("r1.s2")->args["level"].as_string(), "group");
  done("r1.s2", Json::object({{"requeued", true}, {"said", ""}}));
  EXPECT_EQ(end(1), "cured: the restart of job:17 cured it");
  EXPECT_EQ(state.rates.record_of_kind("domain"), nullptr) << "what was not restarted counts for nothing";
  EXPECT_EQ(state.rates.record_of_kind("group")->cures.at("job"), (Cures{1, 1}));
}

TEST_F(Recover, AJobWithoutProcessGroupsIsRestartedAsAWhole) {
  opened(1, of_job(false));
  EXPECT_EQ(find("r1.s1")->args["level"].as_string(), "group");
}

TEST_F(Recover, AJobThatHasEndedMeanwhile) {
  for (const bool lost : {false, true}) {
    const std::int64_t no = lost ? 2 : 1;
    say("job:17", kClaimed, Json::object({{"holder", "nonstop"}, {"by", "j17"}, {"reason", "x"}}));
    opened(no, of_job(false));
    EXPECT_THAT(commands, IsEmpty()) << "the job is another's";
    EXPECT_EQ(watched(state).at(0).run, recovery_name(no) + ".job");
    JobInfo job;
    job.job_id = 17;
    job.state = "COMPLETED";
    if (lost)
      say(recovery_name(no), kJobLost, Json::object({{"run", "x"}, {"job_id", 17}}));
    else
      say(recovery_name(no), kJobSeen, Json::object({{"run", "x"}, {"job", job.to_json()}}));
    EXPECT_EQ(end(no), "gone: job 17 is not what it was any more");
    EXPECT_THAT(watched(state), IsEmpty());
  }
}

TEST_F(Recover, AJobThatBeganAnewByItself) {
  say("job:17", kClaimed, Json::object({{"holder", "nonstop"}, {"by", "j17"}, {"reason", "x"}}));
  opened(1, of_job(false));
  JobInfo job;
  job.job_id = 17;
  job.state = "RUNNING";
  job.restart_cnt = 2;
  say("r1", kJobSeen, Json::object({{"run", "r1.job"}, {"job", job.to_json()}}));
  EXPECT_EQ(end(1), "open");
  job.restart_cnt = 3;
  say("r1", kJobSeen, Json::object({{"run", "r1.job"}, {"job", job.to_json()}}));
  EXPECT_EQ(end(1), "gone: job 17 is not what it was any more");
}

// --- the network: its software is restarted, a part of hardware is a person's

TEST_F(Recover, CommunicationSoftware) {
  opened(1, by_alice(FaultClass::network, "n3", "opensm"));
  EXPECT_EQ(find("r1.s1")->args["components"].dump(), R"(["opensm"])");
  restarted("r1.s1", true);
  EXPECT_EQ(end(1), "cured: the restart of n3/opensm cured it");
  EXPECT_EQ(state.rates.record("n3/opensm")->cures.at("network opensm"), (Cures{1, 1}));
}

TEST_F(Recover, InterfaceHardwareLeavesServiceAndPeopleMustLook) {
  opened(1, by_alice(FaultClass::network, "n3"));
  EXPECT_THAT(commands, IsEmpty());
  EXPECT_THAT(of_kind(kLeaveWanted), ElementsAre(R"({"node":"n3","action":"drain","text":"it hangs"})"));
  EXPECT_EQ(
      end(1),
      "given_up: a part of a network's hardware is for a person to change, and n3 is to leave service: a "
      "person must look");
}

// --- the whole cluster

TEST_F(Recover, TheClusterIsAPersonsWordWhoeverAsks) {
  opened(1, by_alice(FaultClass::cluster, "n3"));
  EXPECT_EQ(end(1), "refused: the whole cluster is restarted on a person's word alone");
  EXPECT_THAT(commands, IsEmpty());
}

// --- what cannot be

TEST_F(Recover, FaultsThatNothingCanBeDoneAbout) {
  struct Row {
    Fault fault;
    std::string why;
  };
  Fault no_job = by_alice(FaultClass::job, "n3"), not_its_node = of_job(true);
  not_its_node.node = "n9";
  const std::vector<Row> rows = {
      {by_alice(FaultClass::component, "n99", "slurmd"), "Slurm has no node n99"},
      {by_alice(FaultClass::component, "n3", "lustre"),
       "lustre on n3 is no component that its agent can restart"},
      {by_alice(FaultClass::component, "n3"), "nobody has said which component it is of"},
      {no_job, "nobody has said which job it is of"},
      {not_its_node, "n9 is not a node of job 17"},
  };
  std::int64_t no = 0;
  for (const Row& row : rows) {
    opened(++no, row.fault);
    EXPECT_EQ(end(no), "refused: " + row.why);
  }
  EXPECT_THAT(commands, IsEmpty());
  EXPECT_THAT(of_kind(kLeaveWanted), IsEmpty());
}

TEST_F(Recover, WhereNodesAreNotRebootedTheNodeIsLeftToPeople) {
  policy.reboot = false;
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_EQ(end(1), "refused: n3: drain.act and drain.reboot are not both on");
  slurmd_hangs(2);
  restarted("r2.s1", false);
  restarted("r2.s2", false);
  EXPECT_EQ(end(2), "given_up: no restart that is ours has cured it: a person must look");
}

// --- findings

TEST_F(Recover, AFindingThatAsksForARestart) {
  finding(9, "n3", "slurmd");
  EXPECT_THAT(kinds_of("r1"), ElementsAre("recovery_opened", "recovery_planned", "intent"));
  EXPECT_EQ(recovery(1).fault.source, "f9");
  finding(10, "n3", "slurmd");
  EXPECT_EQ(state.last, 1) << "said again while it is under way";
  restarted("r1.s1", true);
  EXPECT_THAT(end(1), HasSubstr("cured"));
}

TEST_F(Recover, ByDefaultFindingsArePlannedAndShown) {
  policy.act = false;
  finding(9, "n3", "slurmd");
  EXPECT_EQ(recovery(1).plan.start, 0);
  EXPECT_EQ(end(1), "refused: recover.act is off: this was the plan, and nothing was done");
  EXPECT_THAT(commands, IsEmpty());
  slurmd_hangs(2);
  EXPECT_NE(find("r2.s1"), nullptr) << "a person's word is enough";
}

TEST_F(Recover, FindingsThatAreNotMeant) {
  finding(1, "n3", "slurmd", "unknown");
  finding(2, "n3", "slurmd", "fault", Json::object({{"late", true}}));
  finding(3, "n3", "slurmd", "fault", Json::object({{"action", "drain"}}));
  finding(4, "n3", "slurmd", "fault", Json::object({{"component", ""}}));
  EXPECT_EQ(state.last, 0);
}

TEST_F(Recover, WhereNoComponentIsDescribedAFindingIsOnlyTold) {
  say("node:n3", kComponentsSeen, Json::object({{"components", Json::array()}}));
  finding(1, "n3", "slurmd");
  EXPECT_EQ(state.last, 0);
  finding(2, "n4", "lustre");
  EXPECT_EQ(end(1), "refused: lustre on n4 is no component that its agent can restart")
      << "n4 describes some, so the name is a slip";
}

TEST_F(Recover, SeveralFindingsAtOnceAreOneRecoveryEach) {
  for (const char* node : {"n3", "n4", "n5"})
    take(new_event(finding_name(node[1] - '0'), kFinding,
                   Json::object({{"node", node},
                                 {"specification", "node"},
                                 {"rule", "slurmd"},
                                 {"result", "fault"},
                                 {"action", "restart"},
                                 {"class", "network"},
                                 {"component", "opensm"}})));
  settle();
  EXPECT_EQ(state.last, 3);
  EXPECT_EQ(commands.size(), 3u);
  EXPECT_EQ(recovery(2).fault.of, FaultClass::network);
}

TEST_F(Recover, AFaultThatIsNotSeenAnyMoreIsLetBe) {
  say("node:n3", kClaimed, Json::object({{"holder", "nonstop"}, {"by", "j17"}, {"reason", "x"}}));
  finding(9, "n3", "slurmd");
  finding(10, "n3", "slurmd", "ok");
  EXPECT_EQ(end(1), "gone: f9 is not seen any more");
  EXPECT_THAT(commands, IsEmpty());
}

// Seen on a real node: the agent's first run after the boot is faster than the next look at Slurm.
TEST_F(Recover, ABootThatHasCuredIsACureThoughTheAgentSaysSoBeforeSlurmShowsIt) {
  finding(9, "n3", "slurmd");
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  reboot_begins("n3");
  finding(10, "n3", "slurmd", "ok");
  EXPECT_EQ(end(1), "open");
  now += 120s;
  boot = now - 10s;
  nodes("n3", "IDLE+DRAIN");
  checked("r1.s3:check", true);
  EXPECT_EQ(end(1), "cured: the restart of n3 cured it");
}

TEST_F(Recover, AFaultThatIsGoneBeforeItsNodeBootsNeedsNone) {
  finding(9, "n3", "slurmd");
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  drain_claims("n3");
  finding(10, "n3", "slurmd", "ok");
  EXPECT_EQ(end(1), "gone: f9 is not seen any more");
}

TEST_F(Recover, WhatComesAgainAndAgainBeginsHigherAndThenIsAPersons) {
  policy.most_a_day = 6;
  for (int i = 1; i <= 6; ++i) {
    finding(i, "n3", "slurmd");
    const std::string key = recovery_name(i) + ".s1";
    ASSERT_NE(find(key), nullptr) << i;
    restarted(key, true, 200);
    now += 5min;
    finding(100 + i, "n3", "slurmd", "ok");
  }
  EXPECT_EQ(recovery(1).plan.start, 0);
  EXPECT_EQ(recovery(2).plan.start, 0);
  EXPECT_EQ(recovery(3).plan.start, 1) << "its own restart takes 200 s and has not helped for long, twice";
  finding(7, "n3", "slurmd");
  EXPECT_EQ(end(7), "given_up: n3/slurmd had 6 recoveries within a day: a person must look");
  now += kDay;
  finding(8, "n3", "slurmd");
  EXPECT_EQ(end(8), "open");
}

// --- others

TEST_F(Recover, ANodeThatAnotherHasIsLetBe) {
  say("node:n3", kClaimed, Json::object({{"holder", "nonstop"}, {"by", "j17"}, {"reason", "replaced"}}));
  slurmd_hangs();
  EXPECT_THAT(commands, IsEmpty());
  EXPECT_EQ(end(1), "open");
  say("node:n3", kClaimReleased, Json::object({{"holder", "nonstop"}, {"why", "done"}}));
  EXPECT_THAT(keys(), ElementsAre("r1.s1 restart_component"));
}

TEST_F(Recover, AClaimThatRunsOutIsNotWaitedForAnyLonger) {
  say("node:n3", kClaimed,
      Json::object({{"holder", "x"}, {"by", "x1"}, {"reason", "x"}, {"until", to_micros(now + 10min)}}));
  slurmd_hangs();
  EXPECT_EQ(wake_at, now + 10min);
  pass(10min);
  EXPECT_THAT(keys(), ElementsAre("r1.s1 restart_component"));
}

TEST_F(Recover, TwoThatWantTheSameNodesDoNotWaitForEachOther) {
  policy.breaker.most_percent = policy.breaker.most_out_percent = 50;
  depend({{"n3", "n4"}});
  opened(1, by_alice(FaultClass::component, "n3", "opensm"));
  opened(2, by_alice(FaultClass::component, "n4", "opensm"));
  restarted("r1.s1", false);
  EXPECT_THAT(of_kind(kLeaveWanted), IsEmpty()) << "r2 is at work on n4";
  EXPECT_EQ(claim("node:n3"), nullptr);
  restarted("r2.s1", false);
  ASSERT_EQ(recovery(2).steps.size(), 2u) << "nobody has n3 any more";
  EXPECT_TRUE(recovery(2).steps[1].handed);
  EXPECT_TRUE(recovery(1).steps[1].handed) << "both are handed over: one boot serves both";
}

TEST_F(Recover, ANodeThatIsOutForAnotherReasonIsLetBe) {
  drain_claims("n3");
  nodes("n3", "IDLE+DRAIN");
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_THAT(of_kind(kLeaveWanted), IsEmpty());
  nodes("n3", "IDLE");
  say("node:n3", kClaimReleased, Json::object({{"holder", "drain"}, {"why", "back"}}));
  EXPECT_EQ(of_kind(kLeaveWanted).size(), 1u);
}

TEST_F(Recover, ANodeThatSomebodyDrainedIsHis) {
  nodes("n3", "IDLE+DRAIN");
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_EQ(end(1), "given_up: n3 is drained by somebody else: a person must look");
}

TEST_F(Recover, AShutBreakerKeepsTheNodeAndNotTheComponents) {
  // 20 nodes: one may leave in an hour.
  drain_claims("n9");
  say("node:n9", kIntent,
      Json::object(
          {{"key", "n9.d1"}, {"verb", "drain"}, {"draws", Json::array({"n9"})}, {"args", Json::object()}}));
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  EXPECT_THAT(of_kind(kLeaveWanted), IsEmpty());
  EXPECT_THAT(kinds_of("cluster"), Contains("breaker_tripped"));
  EXPECT_EQ(claim("node:n3"), nullptr) << "it keeps nobody else from the node while it waits";
  EXPECT_LE(wake_at, now + 1h);
  pass(61min);
  EXPECT_EQ(of_kind(kLeaveWanted).size(), 1u);
  EXPECT_FALSE(cluster.breaker.waits("r1"));
}

TEST_F(Recover, WhoWaitsForTheBreakerAndIsStoppedWaitsNoMore) {
  drain_claims("n9");
  say("node:n9", kIntent,
      Json::object(
          {{"key", "n9.d1"}, {"verb", "drain"}, {"draws", Json::array({"n9"})}, {"args", Json::object()}}));
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_TRUE(cluster.breaker.waits("r1"));
  say("r1", kRecoveryStop, Json::object({{"by", "alice"}}));
  EXPECT_EQ(end(1), "refused: stopped by alice");
  EXPECT_FALSE(cluster.breaker.waits("r1"));
}

// --- lost answers and ends

TEST_F(Recover, AfterAnAnswerThatWasLostItIsLookedAt) {
  for (const bool well : {true, false}) {
    const std::int64_t no = well ? 1 : 2;
    const std::string key = recovery_name(no) + ".s1";
    opened(no, by_alice(FaultClass::component, well ? "n3" : "n4", "slurmd"));
    failed(key, "timed_out", "the agent does not answer");
    ASSERT_NE(find(key + ":check"), nullptr) << "before anything else is restarted";
    checked(key + ":check", well);
    if (well)
      EXPECT_EQ(end(no), "cured: the restart of n3/slurmd cured it");
    else
      EXPECT_NE(find("r2.s2"), nullptr);
  }
  EXPECT_EQ(state.rates.record("n4/slurmd")->cures.count("component slurmd"), 0u)
      << "whether it was restarted nobody knows";
}

// The agent was killed in the midst of the restart; the next one says so.
TEST_F(Recover, AfterARestartThatADeadAgentHadBegunItIsLookedAt) {
  slurmd_hangs();
  failed("r1.s1", "conflict", "this restart was begun before, by an agent that is no more");
  ASSERT_NE(find("r1.s1:check"), nullptr) << "before anything else is restarted";
  EXPECT_EQ(find("r1.s2"), nullptr);
  checked("r1.s1:check", true);
  EXPECT_THAT(end(1), testing::StartsWith("cured"));
}

TEST_F(Recover, WhatCannotBeLookedAtIsNotWell) {
  slurmd_hangs();
  failed("r1.s1", "timed_out", "the agent does not answer");
  failed("r1.s1:check", "timed_out", "the agent does not answer");
  EXPECT_NE(find("r1.s2"), nullptr);
}

TEST_F(Recover, ARestartThatIsRefusedCountsForNothingAndTheNextFollows) {
  slurmd_hangs();
  failed("r1.s1", "denied", "no such component");
  EXPECT_NE(find("r1.s2"), nullptr);
  EXPECT_TRUE(state.rates.record("n3/slurmd")->cures.empty());
  done("r1.s2", Json::object({{"restarted", false}, {"cured", true}, {"said", "its command is missing"}}));
  EXPECT_THAT(of_kind(kLeaveWanted), Not(IsEmpty())) << "what was not restarted has cured nothing";
}

TEST_F(Recover, AnAnswerThatComesTwiceCountsOnce) {
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s1", true);
  EXPECT_EQ(end(1), "open");
  EXPECT_EQ(state.rates.record("n3/slurmd")->cures.at("component slurmd"), (Cures{1, 0}));
}

TEST_F(Recover, ANodeThatIsGone) {
  slurmd_hangs();
  gone("n3");
  restarted("r1.s1", false);
  EXPECT_EQ(end(1), "gone: Slurm has n3 no more");
  opened(2, by_alice(FaultClass::node, "n4"));
  gone("n4");
  EXPECT_EQ(end(2), "gone: Slurm has n4 no more");
}

TEST_F(Recover, ANodeThatIsNotBootedInTime) {
  opened(1, by_alice(FaultClass::node, "n3"));
  EXPECT_EQ(wake_at, now + policy.node_wait);
  pass(policy.node_wait - 1s);
  EXPECT_EQ(end(1), "open");
  pass(1s);
  EXPECT_EQ(recovery(1).steps[0].said, "it was not booted within 240 min");
  EXPECT_EQ(end(1), "given_up: no restart that is ours has cured it: a person must look");
  EXPECT_EQ(state.rates.record_of_kind("node")->cures.size(), 0u);
}

TEST_F(Recover, ARebootThatFailsOrIsOverdue) {
  const std::vector<std::pair<std::string, Json>> ends = {
      {std::string(kFailed),
       Json::object(
           {{"key", "b"}, {"verb", "reboot"}, {"error", Json::object({{"what", "no RebootProgram"}})}})},
      {std::string(kOverdue), Json::object({{"why", "no RebootProgram"}})}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::int64_t no = static_cast<std::int64_t>(i) + 1;
    const std::string node = "n" + std::to_string(no);
    opened(no, by_alice(FaultClass::node, node));
    say(node_subject(node), ends[i].first, ends[i].second);
    EXPECT_EQ(recovery(no).steps.at(0).said, "no RebootProgram");
    EXPECT_THAT(end(no), HasSubstr("given_up"));
  }
}

TEST_F(Recover, APersonStopsItBetweenSteps) {
  slurmd_hangs();
  say("r1", kRecoveryStop, Json::object({{"by", "bob"}}));
  EXPECT_EQ(end(1), "open") << "the restart is under way, and its answer is waited for";
  restarted("r1.s1", false);
  EXPECT_EQ(end(1), "refused: stopped by bob");
  EXPECT_EQ(commands.size(), 1u);
}

TEST_F(Recover, DecidingTwiceSaysTheSame) {
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  reboots("n3");
  const Decision once = decide(cluster, state, policy, "r1", now),
                 twice = decide(cluster, state, policy, "r1", now);
  EXPECT_EQ(once.commands, twice.commands);
  EXPECT_EQ(once.records, twice.records);
  EXPECT_TRUE(decide(cluster, state, policy, "r7", now).records.empty());
  EXPECT_TRUE(decide(cluster, state, policy, "node:n3", now).records.empty());
}

// A crash may come after any event: what a replay of the journal up to there gives is what was known then,
// and it can be asked.
TEST_F(Recover, EveryPrefixOfTheJournalReplays) {
  slurmd_hangs();
  restarted("r1.s1", false);
  restarted("r1.s2", false);
  reboots("n3");
  checked("r1.s3:check", true);
  cluster::Cluster again;
  State from;
  for (const Event& event : journal) {
    cluster::apply(again, event);
    apply(from, again.view, event);
    for (const std::int64_t no : from.open) (void)decide(again, from, policy, recovery_name(no), event.at);
  }
  EXPECT_EQ(canonical_text(from), canonical_text(state));
}

// Total: whatever stands in a body.
TEST_F(Recover, BodiesThatSayNothing) {
  slurmd_hangs();
  for (const std::string_view kind :
       {kFinding, kRecoveryOpened, kRecoveryPlanned, kLeaveWanted, kNodesSeen, kIntent, kDone, kFailed,
        kOverdue, kStepFailed, kRecoveryStop, kJobSeen, kJobLost, kComponentsSeen, kNodesDepend})
    for (const char* subject : {"r1", "r2", "f1", "node:n3", "cluster", ""}) {
      Event event = new_event(subject, kind, Json::object());
      event.at = now;
      journal.push_back(event);
      cluster::apply(cluster, event);
      (void)apply(state, cluster.view, event);
    }
}

TEST_F(Recover, AnArchivedOneIsForgottenAndItsNumberIsNot) {
  slurmd_hangs();
  restarted("r1.s1", true);
  say("r1", kArchived);
  EXPECT_TRUE(state.recoveries.empty());
  EXPECT_EQ(state.last, 1);
}

TEST_F(Recover, TheTreeOfTheCluster) {
  const RestartTree tree = tree_of(cluster.view, state, {{.job_id = 17, .nodes = {"n1", "n2"}}});
  EXPECT_EQ(tree.nodes_of(RestartTree::kRoot).size(), 20u);
  EXPECT_TRUE(tree.of_component("n20", "opensm"));
  EXPECT_EQ(tree.cell(tree.cell(tree.of_node("n2").value()).parent).name, "job:17");
}

}  // namespace
}  // namespace sickbay::recover
