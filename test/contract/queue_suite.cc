// SPDX-License-Identifier: Apache-2.0
// The contract of ResourceManager::waiting(): what waits in the queue, on every cluster.
#include <gtest/gtest.h>

#include "model/pending_reason.h"
#include "test/contract/contract_test.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;

class Queue : public ContractTest {
 protected:
  Queue() : ContractTest(seconds(180), seconds(180)) {}
  JobId user_job(std::vector<std::string> options) {
    const JobId id = cluster->sbatch(submission(kRunsUntilKilled, std::move(options)));
    EXPECT_GT(id, 0U);
    handles.push_back({.job_id = id, .uid = cluster->user().uid, .submit = seen(id).submit, .key = ""});
    return id;
  }
  /// Jobs that wait for nodes.
  std::size_t waiting() {
    const auto found =
        ask<std::vector<WaitingJobs>>([&](auto done) { cluster->manager().waiting(std::move(done)); });
    EXPECT_TRUE(found) << found.error().line();
    std::size_t jobs = 0;
    if (found)
      for (const WaitingJobs& row : *found) {
        EXPECT_FALSE(row.partition.empty());
        if (waits_for_nodes(row.reason)) jobs += row.jobs;
      }
    return jobs;
  }
  /// V on that node, as a round begins it.
  JobHandle submitted_v(const std::string& node, bool last) {
    VerificationOrder order;
    order.key = "p" + std::to_string(to_unix_seconds(cluster->loop().now())) + ".v1";
    order.nodes = {node};
    order.script = "#!/bin/bash\n#SIM run=1s\nexit 0\n";
    order.environment = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    order.output_dir = cluster->folder() + "/verify";
    order.last = last;
    const auto made =
        ask<Submitted>([&](auto done) { manager().submit_verification(order, std::move(done)); });
    EXPECT_TRUE(made) << made.error().line();
    if (!made) return {};
    handles.push_back({.job_id = made->job_id,
                       .uid = cluster->verification_uid(),
                       .submit = made->submit,
                       .key = order.key});
    return handles.back();
  }
  bool release(const JobHandle& job, bool first) {
    return ask<bool>([&](auto done) { manager().release({job, first}, std::move(done)); }).value_or(false);
  }
};

// One that is held waits for no node.  V of a round waits behind everybody, and keeps nobody away.
TEST_F(Queue, CountsWhoWaitsForNodes) {
  EXPECT_EQ(waiting(), 0U);
  const std::string node = cluster->nodes().front();
  const JobId runs = user_job({"-N1", "--exclusive", "-t5", "-w", node});
  ASSERT_TRUE(until([&] { return seen(runs).state == "RUNNING"; }));
  user_job({"-N1", "-t5", "--hold"});
  const JobHandle v = submitted_v(node, true);
  ASSERT_TRUE(release(v, false));
  EXPECT_TRUE(until([&] { return seen(v.job_id).reason != "None"; }));
  EXPECT_EQ(waiting(), 0U);
  const JobId waits = user_job({"-N1", "--exclusive", "-t5", "-w", node});
  EXPECT_TRUE(until([&] { return waiting() == 1; }));
  // Whoever came first: the user's job goes before V.
  ASSERT_TRUE(ask<bool>([&](auto done) { cluster->manager().cancel(handles.front(), std::move(done)); }));
  EXPECT_TRUE(until([&] { return seen(waits).state == "RUNNING"; }));
  EXPECT_EQ(seen(v.job_id).state, "PENDING");
}

// V on a node under suspicion: whoever waits for that node, and would die there, comes behind it; who waits
// for another one does not.
TEST_F(Queue, WhoIsReleasedToBeFirstGoesBeforeWhoWaitsLonger) {
  const std::string node = cluster->nodes().front();
  const JobId runs = user_job({"-N1", "--exclusive", "-t5", "-w", node});
  ASSERT_TRUE(until([&] { return seen(runs).state == "RUNNING"; }));
  const JobId waits = user_job({"-N1", "--exclusive", "-t5", "-w", node});
  EXPECT_TRUE(until([&] { return waiting() == 1; }));
  const JobHandle v = submitted_v(node, false);
  ASSERT_TRUE(release(v, true));
  const JobId elsewhere = user_job({"-N1", "--exclusive", "-t5", "-x", node});
  EXPECT_TRUE(until([&] { return seen(elsewhere).state == "RUNNING"; }));
  ASSERT_TRUE(ask<bool>([&](auto done) { cluster->manager().cancel(handles.front(), std::move(done)); }));
  EXPECT_TRUE(until([&] { return seen(v.job_id).state == "COMPLETED"; }));
  EXPECT_TRUE(until([&] { return seen(waits).state == "RUNNING"; }));
  EXPECT_LE(seen(v.job_id).end, seen(waits).start);
}

}  // namespace
}  // namespace sickbay::contract
