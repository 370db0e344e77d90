// SPDX-License-Identifier: Apache-2.0
// Jobs that Slurm puts back and holds for they failed.  One of --requeue=expedite (25.11): while its epilogs
// run it may still run again; then Slurm either starts it anew, which its case follows, or holds it, and the
// run that failed is what its case is about.
#include "engine/identify/rerun_test_world.h"
#include "model/slurm_state.h"

namespace sickbay::identify {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

class Expedite : public testing::Test {
 protected:
  RerunWorld w;

  Expedite() { w.open_case(); }
  JobInfo job(const std::string& state, const std::string& nodes, std::uint32_t restarts) const {
    JobInfo info;
    info.job_id = 101;
    info.uid = 60001;
    info.state = state;
    info.partition = "main";
    info.nodes = nodes;
    info.num_nodes = 2;
    info.restart_cnt = restarts;
    info.submit = w.now;
    if (!nodes.empty()) info.start = w.now;
    return info;
  }
  void see(const JobInfo& info) {
    w.event("c1", kJobSeen, Json::object({{"run", "c1.r1"}, {"job", info.to_json()}}));
    w.settle();
  }
  // As src/adapters/slurm shows it while its epilogs run.
  void see_epilogs(const std::string& nodes, std::uint32_t restarts) {
    JobInfo info = job("FAILED", nodes, restarts);
    info.flags = {"COMPLETING", "EXPEDITING"};
    info.exit_code = 3;
    see(info);
  }
  JobInfo held(std::uint32_t restarts, bool for_its_code = false) const {
    JobInfo info = job("PENDING", "", restarts);
    info.flags = {for_its_code ? "SPECIAL_EXIT" : "REQUEUE_HOLD"};
    info.held = true;
    info.reason = for_its_code ? kExitHeld : kExpediteHeld;
    info.exit_code = 3;
    return info;
  }
  void see_held(std::uint32_t restarts, bool for_its_code = false) { see(held(restarts, for_its_code)); }
};

TEST_F(Expedite, AJobThatSlurmHoldsForItFailedByItselfHasFailed) {
  see(job("RUNNING", "n[1-2]", 0));
  see_epilogs("n[1-2]", 0);
  EXPECT_THAT(w.log, IsEmpty()) << "it may still run again";
  see_held(1);
  const auto& r1 = w.c().programs.front();
  EXPECT_EQ(r1.outcome, Outcome::failed);
  EXPECT_EQ(r1.symptom, Symptom::abnormal_exit);
  EXPECT_EQ(r1.job.exit_code, 3);
  EXPECT_EQ(r1.nodes, (Names{"n1", "n2"}));
  EXPECT_THAT(r1.earlier, IsEmpty());
  EXPECT_THAT(w.c().notes, Contains(HasSubstr("scontrol release 101")));
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

TEST_F(Expedite, SoHasOneWhoseRunNobodySaw) {
  see_held(1);
  const auto& r1 = w.c().programs.front();
  EXPECT_EQ(r1.outcome, Outcome::failed);
  EXPECT_EQ(r1.job.exit_code, 3);
  ASSERT_TRUE(w.c().is_closed());
  // (slurmctld does not say any more where it ran, and without that nobody can be acquitted.)
  EXPECT_EQ(w.c().verdict->cause, Cause::inconclusive) << w.c().verdict->sentence;
  w.expect_same_after_replay();
}

// A site's RequeueExitHold: no epilog decides, and the job is back in the queue at once.
TEST_F(Expedite, OneThatItsSiteHoldsForItsExitCodeHasFailed) {
  see(job("RUNNING", "n[1-2]", 0));
  see_held(1, true);
  const auto& r1 = w.c().programs.front();
  EXPECT_EQ(r1.outcome, Outcome::failed);
  EXPECT_EQ(r1.job.exit_code, 3);
  EXPECT_EQ(r1.nodes, (Names{"n1", "n2"}));
  EXPECT_THAT(w.c().notes, Contains(HasSubstr("with exit code 3, for which this site holds jobs")));
  ASSERT_TRUE(w.c().is_closed());
  EXPECT_EQ(w.c().verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

TEST_F(Expedite, ARerunThatIsHeldSoIsTakenAway) {
  w.program = [](const RunId&, const Names&) { return std::string("RUNNING"); };
  w.fail_job(2);
  JobInfo first = held(1, true), second = first;
  first.job_id = 102;
  w.event("c2", kJobSeen, Json::object({{"run", "c2.r1"}, {"job", first.to_json()}}));
  w.settle(std::chrono::seconds(60));
  const auto* r2 = w.c(2).program(2);
  ASSERT_TRUE(r2 != nullptr && r2->outcome == Outcome::running);
  second.job_id = r2->job.job_id;
  w.event("c2", kJobSeen, Json::object({{"run", "c2.r2"}, {"job", second.to_json()}}));
  w.settle();
  EXPECT_EQ(w.count("c2.r2.a1:takeaway"), 1);
  EXPECT_EQ(w.args_of["c2.r2.a1:takeaway"]["job_id"].as_int(), second.job_id);
  EXPECT_EQ(w.count("c2.r1.a1:takeaway"), 0) << "the user's own is his to release";
  EXPECT_EQ(w.c(2).program(2)->outcome, Outcome::failed) << "to take it away is not how it ended";
  ASSERT_TRUE(w.c(2).is_closed());
  EXPECT_EQ(w.c(2).verdict->cause, Cause::program);
  w.expect_same_after_replay();
}

TEST_F(Expedite, OneThatSlurmStartsAgainIsFollowed) {
  see(job("RUNNING", "n[1-2]", 0));
  see_epilogs("n[1-2]", 0);
  JobInfo waits = job("PENDING", "", 1);
  waits.flags = {"EXPEDITING"};
  see(waits);
  see(job("RUNNING", "n[3-4]", 1));
  EXPECT_THAT(w.log, IsEmpty()) << "nothing is run beside it";
  const auto& r1 = w.c().programs.front();
  EXPECT_EQ(r1.outcome, Outcome::running);
  ASSERT_EQ(r1.earlier.size(), 1U);
  EXPECT_EQ(r1.earlier.front().nodes, (Names{"n1", "n2"}));
  // It fails there, too, and no epilog does.
  see_epilogs("n[3-4]", 1);
  see_held(2);
  EXPECT_EQ(w.c().programs.front().outcome, Outcome::failed);
  EXPECT_EQ(w.c().programs.front().nodes, (Names{"n3", "n4"}));
  EXPECT_EQ(w.c().programs.front().earlier.size(), 1U);
  w.expect_same_after_replay();
}

// Seen with 26.05: the worst of a job's steps is kept over its restart.
TEST_F(Expedite, AStepThatFailedBeforeTheRestartIsNoneOfTheRunThatCompleted) {
  for (const int code : {1, 9}) {
    SCOPED_TRACE(code);
    w = RerunWorld();
    w.open_case();
    see(job("RUNNING", "n[1-2]", 0));
    JobInfo again = job("RUNNING", "n[3-4]", 1);
    again.step_exit_code = 1;  // of the run before
    see(again);
    JobInfo over = job("COMPLETED", "n[3-4]", 1);
    over.step_exit_code = code;
    see(over);
    EXPECT_EQ(w.c().programs.front().symptom, code == 1 ? Symptom::none : Symptom::steps_failed);
    w.expect_same_after_replay();
  }
}

// Whom its owner releases runs for him: the case has its run.
TEST_F(Expedite, OneThatIsReleasedAfterwardsIsNoRunOfTheCase) {
  see(job("RUNNING", "n[1-2]", 0));
  see_held(1);
  const std::size_t runs = w.c().programs.size();
  see(job("RUNNING", "n[1-2]", 1));
  see(job("COMPLETED", "n[1-2]", 1));
  EXPECT_EQ(w.c().programs.size(), runs);
  EXPECT_EQ(w.c().programs.front().outcome, Outcome::failed);
}

}  // namespace
}  // namespace sickbay::identify
