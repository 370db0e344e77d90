// SPDX-License-Identifier: Apache-2.0
// Who waits for what: dependencies, reservations, features, holds, priorities, strangers.  The states and
// reasons were tried on a real Slurm 22.05.8; which of several queued jobs goes first was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/sim/sim_cluster.h"

namespace sickbay::sim {
namespace {

using std::chrono::seconds;

class SimQueueTest : public testing::Test {
 protected:
  SimLoop loop;
  SimCluster cluster{loop, {.features = {{"gpu", "n1"}, {"ib", "n[1-2]"}}, .write_outputs = false}};

  Result<Submitted> try_submit(const std::string& sim, std::vector<std::string> options,
                               std::uint32_t uid = 1001) {
    Submission p;
    p.owner = {uid == 0 ? "root" : "alice", uid, uid};
    p.script = "#!/bin/sh\n#SIM " + sim + "\n";
    p.script_name = "p.sh";
    p.sbatch_options = std::move(options);
    p.work_dir = "/home/alice";
    return cluster.sbatch(p);
  }
  JobId submit(const std::string& sim, std::vector<std::string> options, std::uint32_t uid = 1001) {
    const auto submitted = try_submit(sim, std::move(options), uid);
    EXPECT_TRUE(submitted) << submitted.error().line();
    return submitted ? submitted->job_id : 0;
  }
  void pass(int s) { loop.run_until(loop.now() + seconds(s)); }
  std::string dependency(JobId job_id) {
    std::string text;
    cluster.explain(job_id, [&](Result<PendingFacts> facts) { text = facts->request.dependency; });
    pass(1);
    return text;
  }
  std::string state(JobId job_id) {
    const auto job = cluster.job(job_id);
    return job ? job->state + " " + job->reason : "none";
  }
};

TEST_F(SimQueueTest, DependenciesOnEachEnd) {
  struct Row {
    const char *kind, *first, *while_it_runs, *after_its_end;
  };
  constexpr const char *kWaits = "PENDING Dependency", *kNever = "PENDING DependencyNeverSatisfied",
                       *kRan = "COMPLETED None";
  const Row rows[] = {
      {"afterok", "run=20s", kWaits, kRan},      {"afterok", "run=20s exit=1", kWaits, kNever},
      {"afternotok", "run=20s", kWaits, kNever}, {"afternotok", "run=20s exit=1", kWaits, kRan},
      {"afterany", "run=20s", kWaits, kRan},     {"afterany", "run=20s exit=1", kWaits, kRan},
      {"after", "run=20s", kRan, kRan},          {"after", "run=20s exit=1", kRan, kRan},
  };
  for (const Row& row : rows) {
    const JobId first = submit(row.first, {"-N1"});
    const JobId second =
        submit("run=1s", {"-N1", "--dependency=" + (row.kind + (":" + std::to_string(first)))});
    EXPECT_EQ(state(second), kWaits);
    pass(10);
    EXPECT_EQ(state(second), row.while_it_runs) << row.kind << " " << row.first;
    pass(15);
    EXPECT_EQ(state(second), row.after_its_end) << row.kind << " " << row.first;
  }
}

TEST_F(SimQueueTest, DependenciesOnJobsThatDoNotRun) {
  const JobId waits = submit("run=10s", {"--hold"});
  const std::string id = std::to_string(waits);
  const JobId ok = submit("run=1s", {"--dependency=afterok:" + id}),
              started = submit("run=1s", {"--dependency=after:" + id}),
              either = submit("run=1s", {"--dependency=afterok:" + id + "?afternotok:" + id}),
              both = submit("run=1s", {"--dependency=afterany:" + id + ",afterok:" + id});
  pass(5);
  EXPECT_EQ(dependency(ok), "afterok:" + id + "(unfulfilled)");
  for (const JobId job : {ok, started, either, both}) EXPECT_EQ(state(job), "PENDING Dependency");
  cluster.scancel(waits);
  pass(5);
  EXPECT_EQ(state(ok), "PENDING DependencyNeverSatisfied");
  EXPECT_EQ(dependency(ok), "afterok:" + id + "(failed)");
  EXPECT_EQ(state(started), "COMPLETED None") << "a cancelled job no longer waits to start";
  EXPECT_EQ(state(either), "COMPLETED None");
  EXPECT_EQ(state(both), "PENDING DependencyNeverSatisfied");
  const JobId unknown = submit("run=1s", {"--dependency=afterok:9999"});
  pass(5);
  EXPECT_EQ(state(unknown), "COMPLETED None") << "a job that slurmctld does not know holds nobody";
  for (const char* bad : {"aftok:1", "afterok", "afterok:x", "singleton:3"}) {
    const auto refused = try_submit("run=1s", {std::string("--dependency=") + bad});
    ASSERT_FALSE(refused) << bad;
    EXPECT_THAT(refused.error().what, testing::HasSubstr("Job dependency problem")) << bad;
  }
}

TEST_F(SimQueueTest, ARequeuedJobKeepsThoseThatWaitForItsEnd) {
  const JobId first = submit("run=30s", {"-N1"});
  const JobId second = submit("run=1s", {"-N1", "--dependency=afterok:" + std::to_string(first)});
  pass(5);
  ASSERT_TRUE(cluster.requeue(first));
  pass(60);
  EXPECT_EQ(state(second), "PENDING Dependency");
  pass(120);
  EXPECT_EQ(state(second), "COMPLETED None");
}

TEST_F(SimQueueTest, SingletonWaitsForOlderJobsOfItsNameAndUser) {
  const JobId held = submit("run=10s", {"--job-name=x", "--hold"});
  const JobId waits = submit("run=1s", {"--job-name=x", "--dependency=singleton"});
  const JobId other_name = submit("run=1s", {"--job-name=y", "--dependency=singleton"});
  const JobId other_user = submit("run=1s", {"--job-name=x", "--dependency=singleton"}, 1002);
  pass(5);
  EXPECT_EQ(state(waits), "PENDING Dependency");
  EXPECT_EQ(state(other_name), "COMPLETED None");
  EXPECT_EQ(state(other_user), "COMPLETED None");
  ASSERT_TRUE(cluster.release_hold(held));
  pass(5);
  EXPECT_EQ(state(waits), "PENDING Dependency");
  pass(10);
  EXPECT_EQ(state(waits), "COMPLETED None");
}

TEST_F(SimQueueTest, HoldsAndPriorities) {
  const JobId all = submit("run=20s", {"-N6"});
  const JobId first = submit("run=20s", {"-N6"}), second = submit("run=20s", {"-N6"});
  pass(2);
  EXPECT_FALSE(cluster.hold(all, false)) << "it runs";
  ASSERT_TRUE(cluster.hold(first, true));
  EXPECT_EQ(state(first), "PENDING JobHeldAdmin");
  ASSERT_TRUE(cluster.hold(first, false));
  EXPECT_EQ(state(first), "PENDING JobHeldUser");
  ASSERT_TRUE(cluster.release_hold(first));
  ASSERT_TRUE(cluster.set_priority(second, 7));
  pass(20);
  EXPECT_EQ(cluster.job(second)->state, "RUNNING");
  EXPECT_EQ(cluster.job(first)->state, "PENDING");
}

TEST_F(SimQueueTest, FeaturesAreAskedForAtSubmissionAndAtRelease) {
  const struct {
    std::vector<std::string> options;
    const char* refusal;
  } rows[] = {
      {{"-C", "nix"}, "Invalid feature specification"},
      {{"-N2", "-C", "gpu"}, "Requested node configuration is not available"},
      {{"-x", "n1", "-C", "gpu"}, "Requested node configuration is not available"},
  };
  for (const auto& row : rows) {
    const auto refused = try_submit("run=1s", row.options);
    ASSERT_FALSE(refused) << row.refusal;
    EXPECT_THAT(refused.error().what, testing::HasSubstr(row.refusal));
  }
  const JobId two = submit("run=1s", {"-N2", "-C", "ib"});
  const JobId held = submit("run=1s", {"-H", "-x", "n1", "-C", "gpu"});
  pass(1);
  EXPECT_EQ(cluster.job(two)->nodes, "n[1-2]");
  ASSERT_TRUE(cluster.release_hold(held));
  pass(1);
  EXPECT_EQ(state(held), "PENDING BadConstraints");
  EXPECT_TRUE(cluster.job(held)->held);
}

TEST_F(SimQueueTest, AFullClusterServesItsQueueFirstButForBetterJobs) {
  const JobId first = submit("run=60s", {"-N2"});
  pass(1);
  cluster.fill_with_strangers(seconds(7200), seconds(1800));
  for (const char* name : {"n3", "n4", "n5", "n6"}) EXPECT_EQ(cluster.node(name)->state, "ALLOCATED");
  pass(70);
  EXPECT_EQ(cluster.job(first)->state, "COMPLETED");
  EXPECT_EQ(cluster.node("n1")->state, "ALLOCATED") << "strangers stood before us";
  const JobId plain = submit("run=60s", {"-N2"}), better = submit("run=60s", {"-w", "n[1-2]"});
  ASSERT_TRUE(cluster.set_priority(better, 1000));
  pass(1900);
  EXPECT_EQ(cluster.job(better)->state, "COMPLETED");
  EXPECT_EQ(cluster.job(plain)->state, "PENDING");
  pass(7200);
  EXPECT_EQ(cluster.job(plain)->state, "COMPLETED");
}

TEST_F(SimQueueTest, ReservationsKeepOthersOut) {
  cluster.add_reservation({.name = "maint",
                           .nodes = "n[1-2]",
                           .start = loop.now() + seconds(600),
                           .end = loop.now() + seconds(1200),
                           .users = {0}});
  EXPECT_THAT(try_submit("run=1s", {"--reservation=nix"}).error().what,
              testing::HasSubstr("Requested reservation is invalid"));
  EXPECT_THAT(try_submit("run=1s", {"--reservation=maint"}).error().what,
              testing::HasSubstr("Access denied to requested reservation"));
  const JobId brief = submit("run=10s", {"-w", "n1", "-t", "5"}),
              reaches_in = submit("run=10s", {"-w", "n2", "-t", "20"}),
              many = submit("run=10s", {"-N5", "-t", "20"}),
              elsewhere = submit("run=10s", {"-N4", "-t", "20"}),
              roots = submit("run=10s", {"--reservation=maint"}, 0);
  pass(1);
  EXPECT_EQ(cluster.job(brief)->state, "RUNNING");
  EXPECT_EQ(state(reaches_in), "PENDING ReqNodeNotAvail");
  EXPECT_EQ(state(many), "PENDING ReqNodeNotAvail");
  EXPECT_EQ(cluster.job(elsewhere)->nodes, "n[3-6]");
  EXPECT_EQ(cluster.job(roots)->state, "PENDING");
  pass(600);
  EXPECT_EQ(cluster.job(roots)->nodes, "n1");
  EXPECT_THAT(cluster.node("n1")->flags, testing::Contains("RESERVED"));
  EXPECT_EQ(state(reaches_in), "PENDING ReqNodeNotAvail");
  pass(601);
  EXPECT_EQ(cluster.job(reaches_in)->state, "RUNNING");
  EXPECT_THAT(cluster.node("n2")->flags, testing::Not(testing::Contains("RESERVED")));
}

}  // namespace
}  // namespace sickbay::sim
