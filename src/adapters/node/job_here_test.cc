// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/job_here.h"

#include <gtest/gtest.h>

#include "adapters/node/node_test_parts.h"

namespace sickbay {
namespace {

TEST(JobHere, AStepIsASlurmstepdThatIsNotTheEndlessOne) {
  node::TestFolder tree;
  EXPECT_EQ(a_step_runs_here(tree.path()), std::nullopt) << "no /proc: nobody can tell";
  tree.write("/proc/1/comm", "systemd\n");
  EXPECT_EQ(a_step_runs_here(tree.path()), false);
  tree.write("/proc/70/comm", "slurmstepd\n");
  tree.write("/proc/70/cmdline", std::string("/usr/sbin/slurmstepd\0infinity\0", 30));
  EXPECT_EQ(a_step_runs_here(tree.path()), false) << "it keeps a control group open, on every node, for ever";
  tree.write("/proc/71/comm", "slurmstepd\n");
  EXPECT_EQ(a_step_runs_here(tree.path()), true) << "it says nothing of itself: a step that comes or goes";
  tree.write("/proc/71/cmdline", "slurmstepd: [17.batch]");
  EXPECT_EQ(a_step_runs_here(tree.path()), true);
}

// Of whom: so that users are told of a fault on the node of their job.
TEST(JobHere, JobsWithTheirUsers) {
  node::TestFolder tree;
  EXPECT_EQ(jobs_here(tree.path()).dump(), "[]");
  node::unpack("server", tree);
  EXPECT_EQ(jobs_here(tree.path()).dump(), R"([{"job":17,"uid":60001}])");
}

}  // namespace
}  // namespace sickbay
