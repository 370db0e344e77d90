// SPDX-License-Identifier: Apache-2.0
#include "lab/slurm_version.h"

#include <fmt/core.h>

#include <array>
#include <cstdio>

namespace sickbay::lab {
namespace {

constexpr auto kReleases = std::to_array<SlurmRelease>({
    {2205,
     "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=no\nConstrainRAMSpace=yes\n",
     "CgroupAutomount=no\n"},
    // No CgroupAutomount any more; without a plugin that can work slurmd ends, so none is named.
    {2411, "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\n",
     "CgroupPlugin=disabled\n"},
});

}  // namespace

Result<int> parse_slurm_version(const std::string& text) {
  const std::size_t space = text.rfind(' ');
  int year = 0, month = 0;
  if (space == std::string::npos || std::sscanf(text.c_str() + space, " %2d.%2d.", &year, &month) != 2)
    return fail(Error(ErrorCode::bad_input, fmt::format("'{}' names no version of Slurm", text))
                    .because("that is what slurmctld -V says"));
  return year * 100 + month;
}

const SlurmRelease& slurm_release(int version) {
  const SlurmRelease* found = &kReleases[0];
  for (const SlurmRelease& row : kReleases)
    if (row.since <= version) found = &row;
  return *found;
}

std::string slurm_version_text(int version) { return fmt::format("{}.{:02}", version / 100, version % 100); }

}  // namespace sickbay::lab
