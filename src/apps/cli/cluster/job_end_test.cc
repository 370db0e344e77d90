// SPDX-License-Identifier: Apache-2.0
// What scontrol shows of a job, by its end; and how often it is asked.
#include "apps/cli/cluster/job_end.h"

#include <gtest/gtest.h>

#include <string>

namespace sickbay::cli {
namespace {

TEST(JobEnd, IsWhatSlurmShows) {
  const struct {
    const char* state;
    const char* exit_code;
    std::optional<int> end;
  } rows[] = {
      {"PENDING", "0:0", std::nullopt},
      {"RUNNING", "0:0", std::nullopt},
      {"SUSPENDED", "0:0", std::nullopt},
      {"CONFIGURING", "0:0", std::nullopt},
      {"COMPLETING", "0:0", std::nullopt},
      {"COMPLETED", "0:0", 0},
      {"FAILED", "3:0", 3},
      {"FAILED", "0:9", 137},
      {"TIMEOUT", "0:0", 1},
      {"CANCELLED", "0:15", 143},
      {"NODE_FAIL", "0:0", 1},
      {"OUT_OF_MEMORY", "0:125", 253},
  };
  for (const auto& row : rows)
    EXPECT_EQ(job_end("JobId=7 JobName=sickbay-verify JobState=" + std::string(row.state) +
                      " Reason=None Dependency=(null) ExitCode=" + row.exit_code + " RunTime=00:00:11\n"),
              row.end)
        << row.state;
}

TEST(JobEnd, OfOneThatIsGoneAndOfASlurmctldThatIsAway) {
  EXPECT_EQ(job_end("slurm_load_jobs error: Invalid job id specified\n"), 1);
  EXPECT_EQ(job_end("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"),
            std::nullopt);
  EXPECT_EQ(job_end(""), std::nullopt);
}

TEST(JobEnd, IsLookedForOftenAtFirst) {
  using std::chrono::milliseconds, std::chrono::seconds;
  EXPECT_EQ(pause_after(milliseconds(0)), seconds(1));
  EXPECT_EQ(pause_after(seconds(30)), seconds(1));
  EXPECT_EQ(pause_after(seconds(90)), seconds(3));
  EXPECT_EQ(pause_after(std::chrono::hours(5)), seconds(30));
}

}  // namespace
}  // namespace sickbay::cli
