// SPDX-License-Identifier: Apache-2.0
// What is the simulator's own: faults, other people's jobs, determinism.  What it shares with a real cluster
// is tested by test/contract.
#include "adapters/sim/sim_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/hostlist.h"

namespace sickbay::sim {
namespace {

using std::chrono::seconds;

class SimClusterTest : public testing::Test {
 protected:
  SimLoop loop;
  SimCluster cluster{loop, {.write_outputs = false}};

  JobId submit(const std::string& sim, std::vector<std::string> options = {"-N2"}) {
    Submission p;
    p.owner = {"alice", 1001, 1001};
    p.script = "#!/bin/sh\n#SIM " + sim + "\n";
    p.script_name = "p.sh";
    p.sbatch_options = std::move(options);
    p.work_dir = "/home/alice";
    const auto submitted = cluster.sbatch(p);
    EXPECT_TRUE(submitted) << submitted.error().line();
    return submitted ? submitted->job_id : 0;
  }
  JobInfo verify(std::vector<std::string> nodes) {
    JobId job_id = 0;
    VerificationOrder order;
    order.key = "c1.v1.a1";
    order.nodes = nodes;
    order.script = "#!/bin/sh\nsrun sickbay-verify node\n";
    order.output_dir = "/v";
    cluster.submit_verification(order, [&](Result<Submitted> s) {
      job_id = s->job_id;
      cluster.release({{.job_id = job_id, .uid = 0, .key = "c1.v1.a1"}}, [](Result<bool>) {});
    });
    EXPECT_TRUE(loop.run_while([&] { return job_id == 0 || !over(job_id); }));
    return *cluster.job(job_id);
  }
  bool over(JobId job_id) {
    const auto job = cluster.job(job_id);
    return !job || (job->state != "PENDING" && job->state != "RUNNING");
  }
  JobInfo wait_over(JobId job_id) {
    EXPECT_TRUE(loop.run_while([&] { return !over(job_id); }));
    return *cluster.job(job_id);
  }
};

TEST_F(SimClusterTest, EndsOfPrograms) {
  struct Row {
    const char* sim;
    std::vector<std::string> options;
    const char* state;
    int exit_code;
    const char* reason;
    const char* says;
  };
  const Row rows[] = {
      {"run=5s", {}, "COMPLETED", 0, "None", "run 1 on n1"},
      {"run=5s exit=3",
       {},
       "FAILED",
       3,
       "NonZeroExitCode",
       "srun: error: n1: task 0: Exited with exit code 3"},
      {"run=5s signal=SIGSEGV",
       {},
       "FAILED",
       139,
       "NonZeroExitCode",
       "srun: error: n1: task 0: Segmentation fault"},
      {"run=5s crash-on=n2:SIGBUS",
       {"-N3"},
       "FAILED",
       135,
       "NonZeroExitCode",
       "srun: error: n2: task 1: Bus error"},
      {"run=5m", {"-t1"}, "TIMEOUT", 0, "TimeLimit", "DUE TO TIME LIMIT"},
      {"hang", {"-t1"}, "TIMEOUT", 0, "TimeLimit", "DUE TO TIME LIMIT"},
      {"run=40s slow-with=n1:2.0", {"-t1"}, "TIMEOUT", 0, "TimeLimit", "DUE TO TIME LIMIT"},
      {"run=5s step-exit=139", {}, "COMPLETED", 0, "None", "srun: error: n1: task 0: Segmentation fault"},
      {"run=5s requeue-self=1",
       {"--no-requeue"},
       "FAILED",
       1,
       "NonZeroExitCode",
       "Requested operation is presently disabled for job"},
      {"run=9s takes-down=1", {"-N2", "--no-requeue"}, "NODE_FAIL", 0, "NodeDown", "Node failure on n2"},
  };
  for (const Row& row : rows) {
    const JobInfo job = wait_over(submit(row.sim, row.options));
    EXPECT_EQ(job.state, row.state) << row.sim;
    EXPECT_EQ(job.exit_code, row.exit_code) << row.sim;
    EXPECT_EQ(job.reason, row.reason) << row.sim;
    EXPECT_THAT(cluster.read_output(job.std_out).value_or("no output"), testing::HasSubstr(row.says))
        << row.sim;
    loop.run_until(loop.now() + seconds(1));
    for (const auto& name : cluster.node_names()) cluster.heal(name);
  }
}

TEST_F(SimClusterTest, VerificationShowsWhatIsWrongWithANode) {
  struct Row {
    SimNodeFaults faults;
    const char* state;
    int exit_code;
    const char* out;
    const char* err;
  };
  const Row rows[] = {
      {{}, "COMPLETED", 0, R"("phase":"done","mode":"net","ok":true,"slow":false)", ""},
      {{.kill_signal = 7},
       "FAILED",
       1,
       R"({"sickbay_verify":1,"node":"n2","rank":1,"phase":"start","mode":"node"})",
       "srun: error: n2: task 1: Bus error"},
      {{.speed = 0.5}, "FAILED", 3, R"("node":"n2","rank":1,"phase":"cpu","ok":true,"slow":true)", ""},
      {{.loss = 0.05},
       "FAILED",
       3,
       R"("node":"n1","rank":0,"phase":"net","peer":"n2","ok":true,"slow":true)",
       ""},
      {{.bad_memory = true}, "FAILED", 1, R"("node":"n2","rank":1,"phase":"memory","ok":false)", ""},
  };
  for (const Row& row : rows) {
    cluster.set_faults("n2", row.faults);
    const JobInfo job = verify({"n1", "n2"});
    EXPECT_EQ(job.nodes, "n[1-2]");
    EXPECT_EQ(job.state, row.state) << row.out;
    EXPECT_EQ(job.exit_code, row.exit_code) << row.out;
    EXPECT_THAT(*cluster.read_output(job.std_out), testing::HasSubstr(row.out));
    EXPECT_THAT(*cluster.read_output(job.std_err), testing::HasSubstr(row.err));
  }
}

TEST_F(SimClusterTest, ASilentNodeIsDownAfterSlurmdTimeout) {
  const JobId job_id = submit("run=10m", {"-N2", "--no-requeue"});
  loop.run_until(loop.now() + seconds(10));
  cluster.crash_node("n2");
  loop.run_until(loop.now() + seconds(19));
  EXPECT_EQ(cluster.job(job_id)->state, "RUNNING");
  EXPECT_THAT(cluster.node("n2")->flags, testing::ElementsAre("NOT_RESPONDING"));
  loop.run_until(loop.now() + seconds(2));
  EXPECT_EQ(cluster.job(job_id)->state, "NODE_FAIL");
  EXPECT_EQ(cluster.job(job_id)->nodes, "n[1-2]");
  EXPECT_EQ(cluster.node("n2")->state, "DOWN");
  const TimePoint boot = cluster.node("n2")->boot_time;
  cluster.heal("n2");
  EXPECT_EQ(cluster.node("n2")->state, "IDLE");
  EXPECT_GT(cluster.node("n2")->boot_time, boot);
}

TEST_F(SimClusterTest, AShortCutOfTheNetworkOnlyDelays) {
  const JobId job_id = submit("run=30s");
  loop.run_until(loop.now() + seconds(5));
  cluster.cut_node("n2");
  loop.run_until(loop.now() + seconds(15));
  cluster.heal("n2");
  const JobInfo job = wait_over(job_id);
  EXPECT_EQ(job.state, "COMPLETED");
  EXPECT_EQ(job.end - job.start, seconds(45));
}

TEST_F(SimClusterTest, ARequeueIsAnotherRunOfTheSameJob) {
  const JobId job_id = submit("run=30s");
  loop.run_until(loop.now() + seconds(5));
  const JobInfo before = *cluster.job(job_id);
  ASSERT_TRUE(cluster.requeue(job_id));
  const JobInfo after = *cluster.job(job_id);
  EXPECT_EQ(after.state, "PENDING");
  EXPECT_EQ(after.reason, "BeginTime");
  EXPECT_EQ(after.restart_cnt, 1u);
  EXPECT_EQ(after.nodes, "");
  EXPECT_GT(after.submit, before.submit);
  const JobInfo end = wait_over(job_id);
  EXPECT_EQ(end.state, "COMPLETED");
  EXPECT_GE(end.start - after.submit, seconds(120));
}

TEST_F(SimClusterTest, AScriptThatRequeuesItselfRunsAgain) {
  const JobId job_id = submit("run=10s requeue-self=2", {"--requeue"});
  const JobInfo end = wait_over(job_id);
  EXPECT_EQ(end.state, "COMPLETED");
  EXPECT_EQ(end.restart_cnt, 2U);
  const JobId firm = submit("run=30s", {"--no-requeue"});
  loop.run_until(loop.now() + seconds(5));
  EXPECT_FALSE(cluster.requeue(firm)) << "Slurm refuses it to an operator, too";
}

TEST_F(SimClusterTest, TheWorstStepIsTheDerivedExit) {
  EXPECT_EQ(cluster.derived_exit(wait_over(submit("run=5s step-exit=139")).job_id), std::pair(0, 11));
  EXPECT_EQ(cluster.derived_exit(wait_over(submit("run=5s step-exit=3")).job_id), std::pair(3, 0));
  EXPECT_EQ(cluster.derived_exit(wait_over(submit("run=5s")).job_id), std::pair(0, 0));
}

TEST_F(SimClusterTest, WithoutItsOutputAJobNeverBegins) {
  const auto never_began = [&](const JobInfo& job) {
    EXPECT_EQ(job.state, "FAILED");
    EXPECT_EQ(job.exit_code, 0);
    EXPECT_EQ(job.exit_signal, 53);
    EXPECT_EQ(job.reason, "JobLaunchFailure");
    EXPECT_EQ(job.end, job.start);
    EXPECT_FALSE(cluster.read_output(job.std_out));
  };
  cluster.folders().remove("/home/nowhere");
  never_began(wait_over(submit("run=5s", {"-N2", "--output=/home/nowhere/x.out"})));
  loop.run_until(loop.now() + seconds(1));
  cluster.set_faults("n1", {.storage_away = true});
  never_began(wait_over(submit("run=5s", {"-w", "n[1-2]"})));
  loop.run_until(loop.now() + seconds(1));
  never_began(verify({"n1", "n2"}));
  // The first node opens the output: on another one the program is missed.
  cluster.heal("n1");
  cluster.set_faults("n2", {.storage_away = true});
  loop.run_until(loop.now() + seconds(1));
  const JobInfo job = wait_over(submit("run=5s", {"-w", "n[1-2]"}));
  EXPECT_EQ(job.exit_code, 2);
  EXPECT_THAT(*cluster.read_output(job.std_out), testing::HasSubstr("srun: error: n2: task 1: Exited"));
}

TEST_F(SimClusterTest, PreemptedJobsEndOrGoBack) {
  const JobId ends = submit("run=30s", {"--no-requeue"}), returns = submit("run=30s");
  loop.run_until(loop.now() + seconds(5));
  EXPECT_TRUE(cluster.preempt(ends));
  EXPECT_TRUE(cluster.preempt(returns));
  EXPECT_EQ(cluster.job(ends)->state, "PREEMPTED");
  EXPECT_EQ(cluster.job(returns)->state, "PENDING");
}

TEST_F(SimClusterTest, SmallJobsPassOneThatDoesNotFit) {
  const JobId first = submit("run=100s", {"-N4"});
  const JobId big = submit("run=1s", {"-N5"});
  const JobId small = submit("run=1s", {"-N2"});
  loop.run_until(loop.now() + seconds(3));
  EXPECT_EQ(cluster.job(first)->nodes, "n[1-4]");
  EXPECT_EQ(cluster.job(big)->reason, "Resources");
  EXPECT_EQ(cluster.job(small)->nodes, "n[5-6]");
}

TEST_F(SimClusterTest, AnswersForTheDeadAreDropped) {
  bool answered = false;
  cluster.refresh({}, [&](Result<Snapshot>) { answered = true; });
  cluster.drop_answers();
  loop.run();
  EXPECT_FALSE(answered);
}

TEST_F(SimClusterTest, LostCallsAreUnclearToTheCallerOnly) {
  const struct {
    SimCallFault fault;
    std::size_t jobs;
  } rows[] = {{SimCallFault::lost_request, 0}, {SimCallFault::lost_answer, 1}};
  for (const auto& row : rows) {
    cluster.fail_calls("submit_program", row.fault);
    ProgramOrder order;
    order.key = row.jobs == 0 ? "c1.r2.a1" : "c2.r2.a1";
    order.submission.script = "#!/bin/sh\n";
    std::optional<Result<Submitted>> answer;
    cluster.submit_program(order, [&](Result<Submitted> s) { answer = std::move(s); });
    loop.run();
    ASSERT_TRUE(answer && !*answer);
    EXPECT_EQ(answer->error().code, ErrorCode::timed_out);
    EXPECT_EQ(cluster.keyed_jobs().size(), row.jobs);
  }
}

TEST_F(SimClusterTest, AKilledControllerForgetsWhatItHadNotSavedAndGivesIdsAgain) {
  const JobId saved = submit("run=1h", {"-N1"});
  loop.run_until(loop.now() + seconds(7));
  const JobId unsaved = submit("run=1h", {"-N1"});
  loop.run_until(loop.now() + seconds(1));
  cluster.restart_controller(true, seconds(3));
  EXPECT_FALSE(cluster.job(unsaved));
  EXPECT_EQ(cluster.job(saved)->state, "RUNNING");
  EXPECT_EQ(cluster.node("n2")->state, "IDLE") << "slurmd ends what slurmctld does not know";
  loop.run_until(loop.now() + seconds(4));
  EXPECT_EQ(submit("run=1s", {"-N1"}), unsaved);
}

// Tried on 22.05: scontrol shows the drain, and after kill -9 in the same seconds nobody knows of it.
TEST_F(SimClusterTest, AKilledControllerForgetsADrainThatItHadNotSaved) {
  const auto drain = [&](const char* node) {
    bool done = false;
    cluster.drain(node, "sickbay:f1 disk", [&](Result<bool> drained) { done = drained && *drained; });
    loop.run_until(loop.now() + std::chrono::milliseconds(100));
    EXPECT_TRUE(done);
  };
  drain("n1");
  loop.run_until(loop.now() + seconds(7));
  drain("n2");
  loop.run_until(loop.now() + seconds(1));
  cluster.restart_controller(true, seconds(3));
  loop.run_until(loop.now() + seconds(4));
  EXPECT_THAT(cluster.node("n1")->flags, testing::Contains("DRAIN"));
  EXPECT_THAT(cluster.node("n2")->flags, testing::Not(testing::Contains("DRAIN")));
  EXPECT_EQ(cluster.node("n2")->reason, "");
}

// As a real one does, whose slurmd goes on with what its slurmctld has forgotten.
TEST_F(SimClusterTest, ARunThatStaysIsNotStartedASecondTimeAndItsJobIsHeld) {
  const JobId held = submit("run=1h", {"-N1", "--no-requeue"});
  loop.run_until(loop.now() + seconds(2));
  cluster.restart_controller(true, seconds(3), true);
  loop.run_until(loop.now() + seconds(5));
  EXPECT_EQ(cluster.job(held)->state, "PENDING");
  EXPECT_EQ(cluster.job(held)->reason, kLaunchFailedHeld);
  EXPECT_TRUE(cluster.job(held)->held);
  EXPECT_EQ(cluster.node("n1")->reason, "Duplicate jobid");
  EXPECT_TRUE(cluster.release_hold(held));
  loop.run_until(loop.now() + seconds(200));
  EXPECT_EQ(cluster.job(held)->state, "RUNNING");
}

TEST_F(SimClusterTest, ANodeWithoutRoomInItsSpoolStartsNothingAndIsDrained) {
  cluster.set_faults("n1", {.spool_full = true});
  const JobId held = submit("run=30s", {"-N2"});
  loop.run_until(loop.now() + seconds(1));
  EXPECT_EQ(cluster.job(held)->reason, kLaunchFailedHeld);
  EXPECT_EQ(cluster.node("n1")->reason, "SlurmdSpoolDir is full");
  cluster.heal("n1");
  cluster.set_faults("n1", {.spool_full = true});
  const JobId ended = submit("run=30s", {"-N2", "--no-requeue"});
  loop.run_until(loop.now() + seconds(1));
  EXPECT_EQ(cluster.job(ended)->state, "CANCELLED");
  EXPECT_EQ(cluster.job(ended)->exit_signal, 0);
  EXPECT_FALSE(cluster.read_output(cluster.job(ended)->std_out));
}

TEST(SimClusterScale, TenThousandNodesAndOtherPeoplesJobs) {
  const auto timeline = [](std::uint64_t seed) {
    SimLoop loop;
    SimCluster cluster(loop, {.partitions = {{"batch", "n[1-10000]"}}, .seed = seed, .write_outputs = false});
    cluster.add_background({.live_jobs = 100000, .busy_nodes = 9000, .nodes_per_job = 4});
    EXPECT_EQ(cluster.live_jobs(), 100000u);
    std::vector<std::size_t> changes;
    for (int look = 0; look < 20; ++look) {
      cluster.refresh({}, [&](Result<Snapshot> seen) { changes.push_back(seen->nodes.size()); });
      loop.run_until(loop.now() + seconds(10));
    }
    return changes;
  };
  const auto changes = timeline(7);
  EXPECT_EQ(changes[0], 10000u);
  for (std::size_t look = 1; look < changes.size(); ++look) {
    EXPECT_GT(changes[look], 0u);
    EXPECT_LT(changes[look], 200u);
  }
  EXPECT_EQ(changes, timeline(7));
  EXPECT_NE(changes, timeline(8));
}

}  // namespace
}  // namespace sickbay::sim
