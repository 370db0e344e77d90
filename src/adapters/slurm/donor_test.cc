// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/donor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sickbay::slurm {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

const TimePoint kStart = from_unix_seconds(1'700'000'000);

RunningJob job() {
  RunningJob job;
  job.job_id = 17;
  job.uid = 1001;
  job.gid = 100;
  job.state = "RUNNING";
  job.start = kStart;
  job.nodes = {"n1", "n2", "n10"};
  job.cpus_per_node = {{2, 2}, {4, 1}};
  job.time_limit_min = 60;
  job.partition = "batch";
  job.account = "physics";
  job.qos = "high";
  job.features = "ib";
  job.memory_mib = 500;
  job.memory_per_cpu = true;
  job.tasks_per_node = 2;
  job.oversubscribe = "NO";
  return job;
}
DonorOrder donor_order() {
  DonorOrder order;
  order.job = {17, 1001, kStart, ""};
  order.key = "j17.q1.a1";
  order.cpus = {2};
  return order;
}
DonorRequest request(const RunningJob& j, const DonorOrder& o, TimePoint now = kStart) {
  const auto made = donor_request(j, o, now);
  EXPECT_TRUE(made) << made.error().line();
  return made ? *made : DonorRequest();
}

TEST(Donor, AsksForWhatTheJobAskedFor) {
  const DonorRequest r = request(job(), donor_order());
  EXPECT_EQ(r.comment, "sickbay:j17.q1.a1");
  EXPECT_EQ(r.submit_line, "sickbay sickbay:j17.q1.a1");
  EXPECT_EQ(r.dependency, "expand:17");
  EXPECT_EQ(r.uid, 1001U);
  EXPECT_EQ(r.gid, 100U);
  EXPECT_EQ(r.partition, "batch");
  EXPECT_EQ(r.account, "physics");
  EXPECT_EQ(r.qos, "high");
  EXPECT_EQ(r.features, "ib");
  EXPECT_EQ(r.memory_mib, 500U);
  EXPECT_TRUE(r.memory_per_cpu);
  EXPECT_EQ(r.tasks_per_node, 2U);
  EXPECT_EQ(r.oversubscribe, "NO");
  EXPECT_EQ(r.nodes, 1U);
  EXPECT_EQ(r.cpus_per_node, 2U);
  EXPECT_THAT(r.exclude, ElementsAre("n1", "n2", "n10"));
  RunningJob picky = job();
  picky.excluded = {"n5"};
  DonorOrder bad = donor_order();
  bad.exclude = {"n4"};
  EXPECT_THAT(request(picky, bad).exclude, ElementsAre("n1", "n2", "n4", "n5", "n10"));
  EXPECT_TRUE(r.immediate);
}

TEST(Donor, HasAsManyCpusAsTheBestLostNode) {
  DonorOrder o = donor_order();
  o.nodes = 2;
  o.cpus = {2, 8};
  EXPECT_EQ(request(job(), o).cpus_per_node, 8U);
  o.cpus.clear();
  EXPECT_EQ(request(job(), o).cpus_per_node, 4U) << "not told: as the job's own";
  RunningJob bare = job();
  bare.cpus_per_node.clear();
  EXPECT_EQ(request(bare, o).cpus_per_node, 1U);
}

TEST(Donor, RunsNoLongerThanItsJob) {
  EXPECT_EQ(request(job(), donor_order(), kStart).time_limit_min, 60U);
  EXPECT_EQ(request(job(), donor_order(), kStart + seconds(90)).time_limit_min, 59U) << "rounded up";
  EXPECT_EQ(request(job(), donor_order(), kStart + minutes(61)).time_limit_min, 1U);
  EXPECT_EQ(request(job(), donor_order(), kStart - minutes(5)).time_limit_min, 60U) << "clocks differ";
  RunningJob endless = job();
  endless.time_limit_min = 0;
  EXPECT_EQ(request(endless, donor_order()).time_limit_min, 0U);
}

TEST(Donor, StaysInTheJobsReservationUnlessASparePoolIsNamed) {
  RunningJob j = job();
  j.reservation = "weekly";
  DonorOrder o = donor_order();
  EXPECT_EQ(request(j, o).reservation, "weekly");
  o.reservation = "HOT_SPARE_batch";
  o.node_list = {"n7"};
  EXPECT_EQ(request(j, o).reservation, "HOT_SPARE_batch");
  EXPECT_THAT(request(j, o).node_list, ElementsAre("n7"));
}

TEST(Donor, OrdersThatContradictThemselves) {
  DonorOrder none = donor_order(), waits = donor_order(), few = donor_order(), own = donor_order();
  none.nodes = 0;
  waits.reservation = "HOT_SPARE_batch";
  waits.immediate = false;
  few.nodes = 2;
  few.node_list = {"n7"};
  own.node_list = {"n2"};
  for (const DonorOrder& o : {none, waits, few, own}) {
    const auto refused = donor_request(job(), o, kStart);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_input) << refused.error().line();
  }
}

TEST(Donor, OnlyForAJobThatRuns) {
  RunningJob j = job();
  j.state = "NODE_FAIL";
  const auto refused = donor_request(j, donor_order(), kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().what, "job 17 does not run");
  EXPECT_THAT(refused.error().remedy_text, HasSubstr("--no-kill"));
}

TEST(Donor, NotForAJobWithoutItsBatchScript) {
  RunningJob j = job();
  j.batch = true;
  j.batch_host = "n1";
  EXPECT_TRUE(donor_request(j, donor_order(), kStart));
  j.nodes = {"n2", "n10"};
  const auto refused = donor_request(j, donor_order(), kStart);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "job 17 has lost its batch script");
  j.batch = false;
  EXPECT_TRUE(donor_request(j, donor_order(), kStart))
      << "of salloc's: srun may go on without its first node";
}

TEST(Donor, NotForAJobWithGres) {
  for (std::string RunningJob::*field :
       {&RunningJob::gres, &RunningJob::tres_per_node, &RunningJob::tres_per_job,
        &RunningJob::tres_per_socket, &RunningJob::tres_per_task}) {
    RunningJob j = job();
    j.*field = "gres:gpu:2";
    const auto refused = donor_request(j, donor_order(), kStart);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::conflict);
    EXPECT_EQ(refused.error().what, "job 17 has GRES and cannot grow");
    EXPECT_THAT(refused.error().cause, HasSubstr("gres:gpu:2"));
    EXPECT_THAT(refused.error().remedy_text, HasSubstr("drop"));
  }
}

TEST(Donor, CpusPerTaskAreNoGres) {
  RunningJob j = job();
  j.tres_per_task = "cpu=2";  // 24.11 and 26.05
  EXPECT_TRUE(donor_request(j, donor_order(), kStart));
  j.tres_per_task = "cpu=2,gres/gpu:1";
  const auto refused = donor_request(j, donor_order(), kStart);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().cause, HasSubstr("(gres/gpu:1)"));
}

TEST(Donor, APoolDiffersByItsNodesAndUsers) {
  const SparePool is{"batch", "HOT_SPARE_batch", {"n2", "n1"}, {"root"}};
  SparePool same = is, nodes = is, users = is;
  same.nodes = {"n1", "n2"};
  nodes.nodes = {"n1"};
  users.users = {"root", "alice"};
  EXPECT_FALSE(differs(is, same));
  EXPECT_TRUE(differs(is, nodes));
  EXPECT_TRUE(differs(is, users));
}

TEST(Donor, AnOrderComesBackFromItsJson) {
  DonorOrder o = donor_order();
  o.job.key = "k";
  o.nodes = 2;
  o.cpus = {2, 4};
  o.exclude = {"n9"};
  o.reservation = "HOT_SPARE_batch";
  o.pool_users = {"root", "ops"};
  o.node_list = {"n7", "n8"};
  o.again = true;
  const auto same_job = [](const JobHandle& a, const JobHandle& b) {
    return a.job_id == b.job_id && a.uid == b.uid && a.submit == b.submit && a.key == b.key;
  };
  for (const bool immediate : {true, false}) {
    o.immediate = immediate;
    const DonorOrder back = DonorOrder::from_json(o.to_json());
    EXPECT_TRUE(same_job(back.job, o.job));
    EXPECT_EQ(back.to_json(), o.to_json());
    EXPECT_EQ(back.immediate, immediate);
    EXPECT_EQ(back.cpus, o.cpus);
    EXPECT_EQ(back.pool_users, o.pool_users);
    EXPECT_TRUE(back.again);
  }
}

}  // namespace
}  // namespace sickbay::slurm
