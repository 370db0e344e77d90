// SPDX-License-Identifier: Apache-2.0
// What a job waits for in other jobs, as `sbatch --dependency` says it.
//
// Tried on 22.05: a condition that has come true is forgotten, one that cannot any more leaves the job
// pending with DependencyNeverSatisfied for ever.  A job that slurmctld does not know holds nobody.  A job
// that was put back into the queue keeps those waiting that wait for its end.  `singleton` waits for each
// older job of the same name and user, a held one too.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace sickbay::sim {

enum class SimDependencyKind : std::uint8_t { after, after_ok, after_not_ok, after_any, singleton };
std::string_view to_string(SimDependencyKind kind);

struct SimDependency {
  SimDependencyKind kind = SimDependencyKind::after_any;
  JobId job = 0;  ///< 0 for singleton
  friend bool operator==(const SimDependency&, const SimDependency&) = default;
};

struct SimDependencies {
  std::vector<SimDependency> each;
  bool one_is_enough = false;  ///< "?" between them, not ","
  friend bool operator==(const SimDependencies&, const SimDependencies&) = default;
};

enum class DependencyState : std::uint8_t { satisfied, waits, never };

/// "afterok:17:18,singleton".  Nothing where Slurm would say "Job dependency problem".
std::optional<SimDependencies> parse_dependencies(std::string_view text);

}  // namespace sickbay::sim
