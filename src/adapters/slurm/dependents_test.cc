// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/dependents.h"

#include <gtest/gtest.h>

namespace sickbay::slurm {
namespace {

TEST(Dependents, AreThoseOfTheJobItsArrayAndItsName) {
  const DependentsOrder order{12, 1000, "step"};
  const struct {
    const char *dependency, *name;
    JobId array;
    const char* why;
  } rows[] = {
      {"afterok:12(unfulfilled)", "next", 0, "dependency"},     {"afterany:13", "next", 0, ""},
      {"afterany:10_*(unfulfilled)", "next", 10, "dependency"}, {"afterany:10_*(unfulfilled)", "next", 0, ""},
      {"singleton(unfulfilled)", "step", 0, "singleton"},       {"singleton(unfulfilled)", "other", 0, ""},
      {"afterok:12,singleton", "step", 0, "dependency"},        {"", "step", 0, ""},
  };
  for (const auto& row : rows)
    EXPECT_EQ(why_dependent(row.dependency, row.name, order, row.array), row.why) << row.dependency;
}

TEST(Dependents, ASubmitLineTellsWhatWasAskedFor) {
  EXPECT_EQ(dependency_of_submit_line("sbatch -d singleton job.sh -d x"), "singleton");
  EXPECT_EQ(dependency_of_submit_line("/usr/bin/sbatch --dependency=afterok:12 job.sh"), "afterok:12");
  EXPECT_EQ(dependency_of_submit_line("sbatch job.sh"), "");
  EXPECT_EQ(dependency_of_submit_line("sbatch --dependency"), "");
  EXPECT_EQ(dependency_of_submit_line(""), "");
}

}  // namespace
}  // namespace sickbay::slurm
