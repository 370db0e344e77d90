// SPDX-License-Identifier: Apache-2.0
// Reach: which nodes can talk to which, by plain TCP and before any MPI.
//
// MPI_Init is itself collective: MPICH exchanges addresses in it over the network, so one dead link keeps two
// ranks in it for two minutes and makes the others believe that those two are gone.  Hence each rank first
// connects to all its partners at once by itself.  Slurm needs the same paths (srun and slurmstepd talk
// between compute nodes on any port), so a firewall that forbids them forbids jobs.
#pragma once
#include <string>
#include <vector>

#include "options.h"
#include "report.h"

namespace sickbay::verify {

/// The ranks of a step: who, where, and what keeps two runs apart.
struct StepPlace {
  int rank = 0;
  std::vector<std::string> names;      ///< node of each rank
  std::vector<std::string> addresses;  ///< what to resolve; as the names unless a test says otherwise
  std::uint64_t step = 0;              ///< equal on all ranks of a step, different between steps
};

/// From Slurm's environment.  Errors: usage, when this is no step with one task per node.
Result<StepPlace> step_place();

/// Connects to the partners of net_plan and answers them, within options.hello_wait; one line per partner.
void run_reach(const Options& options, const StepPlace& place, Reporter& reporter);

}  // namespace sickbay::verify
