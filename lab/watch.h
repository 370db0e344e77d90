// SPDX-License-Identifier: Apache-2.0
// Watchers: the part of a fault that waits for jobs.
//
// A rank is a process that slurmstepd started for a step (SLURM_STEP_ID in its environment); batch scripts
// are none.  A watcher sees a new step on its node within 50 ms and throws its dice once per step.
#pragma once
#include <string>
#include <vector>

#include "lab/faults.h"

namespace sickbay::lab {

/// A rank on a machine, as the host sees it.
struct Rank {
  Process process;
  std::string step;  ///< "17.0"
};
std::vector<Rank> ranks_on(const Process& holder);
/// "17.0" from an environment block (NUL between entries); empty when it is no rank's.  Pure.
std::string step_of_environment(const std::string& block);

/// Whether this fault needs a watcher.
bool needs_watcher(const FaultSpec& spec);
/// Starts the watcher of a fault, recorded in it and in the cleanup list.
Status start_watcher(const Layout& layout, ActiveFault& fault);
/// Starts the process that heals the fault after its --for.
Status start_timer(const Layout& layout, ActiveFault& fault);

}  // namespace sickbay::lab
