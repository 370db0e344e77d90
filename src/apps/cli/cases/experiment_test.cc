// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/experiment.h"

#include <gmock/gmock.h>

namespace sickbay::cli {
namespace {

using ::testing::ElementsAre;

// As `scontrol -o show job` of Slurm 22.05 prints it, cut to what matters.
constexpr std::string_view kShown =
    "JobId=17 JobName=relax 3.sh UserId=alice(60001) GroupId=alice(60001) MCS_label=N/A Priority=4294901757 "
    "Nice=0 "
    "Account=(null) QOS=normal JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Requeue=0 Restarts=0 "
    "ExitCode=3:0 TimeLimit=00:10:00 TimeMin=N/A Partition=batch AllocNode:Sid=ctl:99 ReqNodeList=(null) "
    "NodeList=n[1-2] BatchHost=n1 NumNodes=2 NumCPUs=4 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:* "
    "MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0 Features=(null) DelayBoot=00:00:00 "
    "Command=/home/alice/my jobs/relax.sh 3 x WorkDir=/home/alice/my jobs StdErr=/home/alice/e "
    "StdOut=/home/alice/o";

TEST(Experiment, ReadsWhatScontrolShows) {
  EXPECT_EQ(shown_value(kShown, "JobId"), "17");
  EXPECT_EQ(shown_value(kShown, "JobName"), "relax 3.sh");
  EXPECT_EQ(shown_value(kShown, "WorkDir"), "/home/alice/my jobs");
  EXPECT_EQ(shown_value(kShown, "Command"), "/home/alice/my jobs/relax.sh 3 x");
  EXPECT_EQ(shown_value(kShown, "StdOut"), "/home/alice/o");
  EXPECT_EQ(shown_value(kShown, "Account"), "");
  EXPECT_EQ(shown_value(kShown, "Name"), "");  // of no key only the end
  EXPECT_EQ(shown_value("", "JobId"), "");
}

TEST(Experiment, AsksForWhatTheJobHad) {
  const auto options = options_of_shown_job(kShown);
  ASSERT_TRUE(options);
  EXPECT_THAT(*options, ElementsAre("--nodes=2", "--ntasks=2", "--cpus-per-task=1", "--time=00:10:00",
                                    "--partition=batch", "--qos=normal"));
}

TEST(Experiment, RefusesWhatCannotRunAgainAlone) {
  for (const char* more : {"JobId=17 ArrayJobId=17 ArrayTaskId=3 ", "JobId=17 HetJobId=17 HetJobOffset=0 "}) {
    const auto options = options_of_shown_job(std::string(more) + std::string(kShown));
    ASSERT_FALSE(options);
    EXPECT_EQ(options.error().code, ErrorCode::conflict);
  }
}

}  // namespace
}  // namespace sickbay::cli
