// SPDX-License-Identifier: Apache-2.0
// The manager against a real Slurm: every call, and what is left when a part dies in the middle of one.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "test/slurm/real_cluster.h"

namespace sickbay::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RealSlurm : public RealCluster {};

TEST_F(RealSlurm, AHeldVerificationIsFoundReleasedAndRuns) {
  const auto order = verification("n2", "#!/bin/sh\nhostname\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();

  const auto held = look(submitted->job_id);
  ASSERT_TRUE(held) << held.error().line();
  EXPECT_EQ(held->state, "PENDING");
  EXPECT_TRUE(held->held);
  EXPECT_EQ(held->comment, "sickbay:" + order.key);
  EXPECT_EQ(held->submit, submitted->submit);
  EXPECT_EQ(held->start, kNoTime);

  const auto found = find(order.key);
  ASSERT_TRUE(found) << found.error().line();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().job_id, submitted->job_id);
  EXPECT_EQ(find(order.key + "1")->size(), 0U);

  const JobHandle handle = handle_of(*submitted, order.key);
  EXPECT_EQ(release(handle), true);
  EXPECT_EQ(release(handle), false);
  const auto ended = wait_for_end(submitted->job_id);
  ASSERT_TRUE(ended) << ended.error().line();
  EXPECT_EQ(ended->state, "COMPLETED");
  EXPECT_EQ(ended->nodes, "n2");
  EXPECT_EQ(cancel(handle), false);
}

TEST_F(RealSlurm, AStrangersJobIsNotTouched) {
  const auto order = verification("n1", "#!/bin/sh\n");
  const auto submitted = submit(order);
  ASSERT_TRUE(submitted) << submitted.error().line();
  JobHandle handle = handle_of(*submitted, order.key);

  JobHandle other_key = handle, other_user = handle, other_time = handle, no_job = handle;
  other_key.key += "0";
  other_user.uid += 1;
  other_time.submit += seconds(1);
  no_job.job_id += 100000;
  for (const JobHandle& stranger : {other_key, other_user, other_time}) {
    EXPECT_EQ(code_of(release(stranger)), "not_found");
    EXPECT_EQ(code_of(cancel(stranger)), "not_found");
  }
  EXPECT_EQ(code_of(release(no_job)), "not_found");
  EXPECT_EQ(cancel(no_job), false);

  EXPECT_EQ(cancel(handle), true);
  EXPECT_EQ(cancel(handle), false);
  EXPECT_EQ(wait_for_end(submitted->job_id)->state, "CANCELLED");
}

TEST_F(RealSlurm, SlurmsRefusalIsInItsOwnWords) {
  const auto refused = submit(verification("nosuchnode", "#!/bin/sh\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::refused_by_slurm);
  EXPECT_NE(refused.error().what.find("Invalid node name specified"), std::string::npos);
}

TEST_F(RealSlurm, TheFirstLookHasAllNodesAndLaterOnesTheDifferences) {
  const auto first = refresh({});
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_GE(first->nodes.size(), 4U);
  EXPECT_GT(first->controller_boot, kNoTime);
  EXPECT_EQ(drain("n4", "sickbay:f1 test: drained"), true);
  EXPECT_EQ(drain("n4", "sickbay:f1 test: drained"), false);
  const auto second = refresh({4000000});
  ASSERT_TRUE(second) << second.error().line();
  const auto n4 = std::find_if(second->nodes.begin(), second->nodes.end(),
                               [](const NodeInfo& node) { return node.name == "n4"; });
  ASSERT_NE(n4, second->nodes.end());
  EXPECT_EQ(n4->flags, std::vector<std::string>{"DRAIN"});
  EXPECT_EQ(n4->reason, "sickbay:f1 test: drained");
  EXPECT_EQ(second->absent, std::vector<JobId>{4000000});

  EXPECT_EQ(code_of(undrain("n4", "sickbay:f2")), "conflict");
  EXPECT_EQ(undrain("n4", "sickbay:f1"), true);
  EXPECT_EQ(undrain("n4", "sickbay:f1"), false);
  EXPECT_EQ(code_of(drain("nosuchnode", "sickbay:f1")), "not_found");
}

TEST_F(RealSlurm, AKilledChildIsReplacedAndItsNodesAreNotAllNews) {
  ASSERT_TRUE(refresh({}));
  kill_child(SIGKILL);
  const auto again = refresh({});
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_LT(again->nodes.size(), 4U);
}

TEST_F(RealSlurm, AChildThatHangsIsKilledAndTheCallTimesOut) {
  restart_manager(milliseconds(300));
  ASSERT_TRUE(refresh({}));
  kill_child(SIGSTOP);
  EXPECT_EQ(code_of(refresh({})), "timed_out");
  EXPECT_TRUE(refresh({}));
}

}  // namespace
}  // namespace sickbay::slurm
