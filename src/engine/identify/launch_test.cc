// SPDX-License-Identifier: Apache-2.0
// Jobs that Slurm could not start: cancelled by it, or held by it for good.
#include "engine/identify/launch.h"

#include "engine/identify/provisional.h"
#include "engine/identify/rerun_test_world.h"

namespace sickbay::identify {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Launch : public testing::Test {
 protected:
  RerunWorld w;

  void drain(const std::string& nodes, const std::string& reason) {
    w.event("cluster", kNodesSeen,
            Json::object({{"groups", Json::array({Json::object({{"nodes", nodes},
                                                                {"state", "IDLE+DRAIN"},
                                                                {"usable", false},
                                                                {"down", false},
                                                                {"drained", true},
                                                                {"reason", reason},
                                                                {"reason_uid", 64030},
                                                                {"partitions", Names{"main"}}})})}}));
  }
  JobInfo job(const std::string& state, const std::string& nodes = "n[1-2]") const {
    JobInfo info;
    info.job_id = 101;
    info.uid = 60001;
    info.state = state;
    info.partition = "main";
    info.nodes = nodes;
    info.num_nodes = 2;
    if (!nodes.empty()) info.start = w.now;
    return info;
  }
  void see(const JobInfo& info, const std::string& run = "c1.r1") {
    w.event("c1", kJobSeen, Json::object({{"run", run}, {"job", info.to_json()}}));
  }
  void see_cancelled(std::chrono::seconds lived) {
    JobInfo info = job("CANCELLED");
    info.start = w.now - lived;
    info.end = w.now;
    see(info);
  }
  void see_held(const std::string& reason) {
    JobInfo info = job("PENDING", "");
    info.held = true;
    info.reason = reason;
    info.restart_cnt = 1;
    see(info);
  }
  Known known() const { return {w.cluster.view, w.state, w.policy, w.now}; }
};

TEST_F(Launch, ACancelledJobWasNotStartedWhereSlurmSaysSoOfItsNode) {
  const struct {
    const char* reason;
    int lived_s;
    const char* nodes;  // that are the cause; "": the job was cancelled
  } rows[] = {{"SlurmdSpoolDir is full", 0, "n2"}, {"batch job complete failure", 1, "n2"},
              {"Prolog error", 40, "n2"},          {"SlurmdSpoolDir is full", 300, ""},
              {"Duplicate jobid", 0, ""},          {"disk exchange", 0, ""},
              {"Kill task failed", 20, ""},        {"", 0, ""}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.reason);
    w = RerunWorld();
    w.open_case();
    see(job("RUNNING"));
    if (*row.reason != 0) drain("n2", row.reason);
    see_cancelled(std::chrono::seconds(row.lived_s));
    w.settle();
    const Case& c = w.c();
    ASSERT_TRUE(c.is_closed());
    EXPECT_EQ(compress_hostlist(c.verdict->nodes), row.nodes);
    EXPECT_EQ(c.verdict->cause, *row.nodes == 0 ? Cause::cancelled : Cause::node);
    EXPECT_THAT(w.log, IsEmpty()) << "nothing is run for it";
    if (*row.nodes == 0) continue;
    EXPECT_EQ(c.verdict->confidence, Confidence::medium);
    ASSERT_EQ(c.verdict->faulty->size(), 1u);
    EXPECT_FALSE(c.verdict->faulty->front().drains) << "Slurm has";
    EXPECT_THAT(c.verdict->sentence, HasSubstr(row.reason));
    w.expect_same_after_replay();
  }
}

TEST_F(Launch, TheNodeMayBeDrainedAMomentAfterTheJobsEnd) {
  w.open_case();
  see(job("RUNNING"));
  see_cancelled(std::chrono::seconds(0));
  w.settle(std::chrono::seconds(3));
  EXPECT_FALSE(w.c().verdict);
  drain("n1", "Prolog error");
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::node);
  EXPECT_TRUE(w.c().is_closed());
}

TEST_F(Launch, AJobThatNeverStartedIsNobodysFailure) {
  w.open_case();
  drain("n1", "SlurmdSpoolDir is full");
  see(job("CANCELLED", ""));
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::cancelled);
}

TEST_F(Launch, AReRunThatWasNotStartedGoesElsewhere) {
  bool refused = false;
  w.program = [&](const RunId& run, const Names& nodes) {
    if (run.n == 1 || std::exchange(refused, true)) return std::string("FAILED");
    drain(nodes.front(), "SlurmdSpoolDir is full");
    return std::string("CANCELLED");
  };
  w.fail_job(1);
  w.settle();
  EXPECT_EQ(w.c().programs.at(1).attempt, 2);
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
}

TEST_F(Launch, WhatSlurmHoldsIsToldAndGoesOnWhenItIsReleased) {
  w.open_case();
  see(job("RUNNING"));
  see_held(std::string(kLaunchFailedHeld));
  w.settle(std::chrono::hours(1));
  ASSERT_TRUE(w.c().verdict);
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
  EXPECT_FALSE(w.c().verdict->final);
  EXPECT_THAT(w.c().verdict->next, Contains(HasSubstr("scontrol release 101")));
  EXPECT_EQ(waits_for(w.c()), "a release: scontrol release 101");
  EXPECT_THAT(under_way(known(), w.c()), Contains(HasSubstr("Slurm put it back and holds it")));
  JobInfo again = job("RUNNING", "n[3-4]");
  again.restart_cnt = 1;
  see(again);
  w.settle(std::chrono::hours(1));
  EXPECT_TRUE(case_view(w.c())["verdict"].is_null()) << "nothing of it stays";
  EXPECT_EQ(waits_for(w.c()), "");
  again.state = "COMPLETED";
  again.end = w.now;
  see(again);
  w.settle();
  EXPECT_EQ(w.c().verdict->cause, Cause::normal);
  EXPECT_TRUE(w.c().is_closed());
  w.expect_same_after_replay();
}

TEST_F(Launch, ANodeThatSlurmDrainedForItIsTheCause) {
  w.open_case();
  see(job("RUNNING"));
  drain("n1", "SlurmdSpoolDir is full");
  see_held(std::string(kLaunchFailedHeld));
  w.settle(std::chrono::hours(1));
  EXPECT_EQ(w.c().verdict->cause, Cause::node);
  EXPECT_EQ(w.c().verdict->nodes, Names{"n1"});
  EXPECT_FALSE(w.c().verdict->final);
}

TEST_F(Launch, AStartedSlurmctldIsNamedAndNoNode) {
  w.open_case();
  see(job("RUNNING"));
  w.event("cluster", kControllerSeen, Json::object({{"boot", to_micros(w.now + std::chrono::seconds(3))}}));
  drain("n1", "Duplicate jobid");
  see_held(std::string(kLaunchFailedHeld));
  w.settle(std::chrono::hours(1));
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
  EXPECT_THAT(w.c().verdict->why, Contains(HasSubstr("slurmctld was started anew")));
  EXPECT_THAT(w.c().verdict->why, Contains(HasSubstr("Slurm has drained n1: Duplicate jobid")));
}

// It was over before anybody saw where the job was.
TEST_F(Launch, WhereNobodySawItsNodesThoseThatSlurmDrainedAreToldAndNotBlamed) {
  w.open_case();
  drain("n4", "SlurmdSpoolDir is full");
  drain("n5", "disk exchange");
  see_held(std::string(kLaunchFailedHeld));
  w.settle(std::chrono::hours(1));
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive);
  EXPECT_THAT(w.c().verdict->why, Contains("Slurm has drained n4: SlurmdSpoolDir is full"));
  EXPECT_THAT(w.c().verdict->why, testing::Not(Contains(HasSubstr("n5"))));
}

TEST_F(Launch, NobodyReleasesIt) {
  w.open_case();
  see(job("RUNNING"));
  see_held(std::string(kLaunchFailedHeld));
  w.settle();
  EXPECT_TRUE(w.c().is_closed());
  EXPECT_TRUE(w.c().verdict->final);
  EXPECT_THAT(w.c().verdict->sentence, HasSubstr("holds it"));
  EXPECT_THAT(w.c().verdict->next, Contains(HasSubstr("this case is over")));
  w.expect_same_after_replay();
}

// Its owner, or an operator, knows what he waits for.
TEST_F(Launch, AHoldOfPeopleIsNoVerdictAndIsTold) {
  for (const char* reason : {"JobHeldUser", "JobHeldAdmin"}) {
    w = RerunWorld();
    w.open_case();
    see_held(reason);
    w.settle(std::chrono::hours(1));
    EXPECT_FALSE(w.c().verdict) << reason;
    EXPECT_THAT(under_way(known(), w.c()), Contains(HasSubstr("scontrol release 101"))) << reason;
  }
}

}  // namespace
}  // namespace sickbay::identify
