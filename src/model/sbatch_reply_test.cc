// SPDX-License-Identifier: Apache-2.0
#include "model/sbatch_reply.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

TEST(SbatchReply, FindsTheJobId) {
  const struct {
    const char* line;
    bool parsable;
    JobId job_id;  // 0: none
  } rows[] = {
      {"Submitted batch job 123\n", false, 123},
      {"Submitted batch job 4294967294", false, 4294967294},
      {"Submitted batch job 123 on cluster c1\n", false, 123},
      {"123\n", true, 123},
      {"123;c1\n", true, 123},

      {"Submitted batch job 123", true, 0},
      {"123", false, 0},
      {"", false, 0},
      {"", true, 0},
      {"Submitted batch job", false, 0},
      {"Submitted batch job x1", false, 0},
      {"Submitted batch job 0", false, 0},
      {"Submitted batch job -1", false, 0},
      {"Submitted batch job 12x", false, 0},
      {"Submitted batch job 99999999999", false, 0},
      {"Welcome: Submitted batch job 7", false, 0},
      {"123 jobs are waiting", true, 0},
  };
  for (const auto& row : rows)
    EXPECT_EQ(parse_sbatch_reply(row.line, row.parsable).value_or(0), row.job_id) << row.line;
}

}  // namespace
}  // namespace sickbay
