// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/cases/requeue_right.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sickbay::cli {
namespace {

void set(const char* name, const char* value) {
  if (value == nullptr)
    ::unsetenv(name);
  else
    ::setenv(name, value, 1);
}

TEST(RequeueRight, IsWhatSbatchMakesOfAllThatWasSaid) {
  const struct {
    std::vector<std::string> line;
    const char *requeue, *no_requeue;  // variables; null: unset
    const char* script;
    bool allowed;
  } rows[] = {
      {{}, nullptr, nullptr, "", false},
      {{"--requeue"}, nullptr, nullptr, "", true},
      {{"--requeue", "--no-requeue"}, nullptr, nullptr, "", false},
      {{"--no-requeue", "--requeue"}, nullptr, nullptr, "", true},
      {{}, nullptr, nullptr, "#SBATCH --requeue", true},
      {{}, nullptr, nullptr, "#SBATCH --requeue\n#SBATCH --no-requeue", false},

      // Its variables go before the script and behind the command line.
      {{}, "1", nullptr, "#SBATCH --no-requeue", true},
      {{}, "", nullptr, "", true},
      {{}, "yes", nullptr, "", true},
      {{"--requeue=expedite"}, nullptr, nullptr, "", true},
      {{}, nullptr, nullptr, "#SBATCH --requeue=expedite", true},
      {{}, "expedite", nullptr, "", true},
      {{}, nullptr, "1", "#SBATCH --requeue", false},
      {{}, nullptr, "", "#SBATCH --requeue", false},
      {{"--requeue"}, nullptr, "1", "", true},
      {{"--no-requeue"}, "1", nullptr, "", false},

      // Both: sbatch reads SBATCH_REQUEUE last.
      {{}, "1", "1", "", true},

      // Any other value takes back what was said before it: the site decides.
      {{}, "0", nullptr, "#SBATCH --requeue", false},
      {{}, "no", nullptr, "#SBATCH --requeue", false},
      {{}, nullptr, "0", "#SBATCH --requeue", false},
      {{}, "1", "0", "", true},
  };
  for (const auto& row : rows) {
    set("SBATCH_REQUEUE", row.requeue);
    set("SBATCH_NO_REQUEUE", row.no_requeue);
    const auto line = parse_sbatch_line(row.line);
    const auto script = parse_script_options(std::string("#!/bin/sh\n") + row.script + "\n");
    ASSERT_TRUE(line && script);
    EXPECT_EQ(allows_requeue(*line, *script), row.allowed)
        << testing::PrintToString(row.line) << " " << (row.requeue ? row.requeue : "-") << " "
        << (row.no_requeue ? row.no_requeue : "-") << " " << row.script;
  }
  set("SBATCH_REQUEUE", nullptr);
  set("SBATCH_NO_REQUEUE", nullptr);
}

}  // namespace
}  // namespace sickbay::cli
