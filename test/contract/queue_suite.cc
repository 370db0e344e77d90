// SPDX-License-Identifier: Apache-2.0
// The contract of ResourceManager::waiting(): what waits in the queue, on every cluster.
#include <gtest/gtest.h>

#include "model/pending_reason.h"
#include "test/contract/contract_parts.h"

namespace sickbay::contract {
namespace {

using std::chrono::seconds;

class Queue : public Contract {
 protected:
  Queue() : Contract(seconds(180), seconds(180)) {}
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
  JobHandle submitted_v(const std::string& node, bool behind_all) {
    VerificationOrder order = verification({node}, "#!/bin/bash\n#SIM run=1s\nexit 0\n");
    order.key = "p" + std::to_string(to_unix_seconds(cluster->loop().now())) + ".v1";
    order.last = behind_all;
    return submitted(order);
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
  ASSERT_TRUE(release(v));
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
