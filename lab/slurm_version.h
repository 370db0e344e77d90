// SPDX-License-Identifier: Apache-2.0
// What the lab's files must say to one release of Slurm and not to another: one table.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::lab {

/// A row holds from its release on, until the next row.
struct SlurmRelease {
  int since;                       ///< 2411 is 24.11
  std::string_view cgroup_memory;  ///< cgroup.conf where task/cgroup limits memory (cgroup v1)
  std::string_view cgroup_none;    ///< cgroup.conf where it does not
};

/// "slurm-wlm 24.11.5" (what `slurmctld -V` prints) is 2411.  Error: bad_input.
Result<int> parse_slurm_version(const std::string& text);
/// The row for a release: of one older than all, the first.
const SlurmRelease& slurm_release(int version);
/// 2411 is "24.11".
std::string slurm_version_text(int version);

}  // namespace sickbay::lab
