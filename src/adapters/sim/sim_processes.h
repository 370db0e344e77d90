// SPDX-License-Identifier: Apache-2.0
// SimProcesses: ports/process_runner.h on the simulated cluster's shared storage.
//
// Sickbay starts one kind of program beside Slurm's: `tail -c N -- PATH`, which reads what a job wrote.  It
// is answered from the cluster's outputs, so that no process and no file is needed.  Any other program is
// "not installed".
#pragma once
#include "adapters/sim/sim_cluster.h"
#include "ports/process_runner.h"

namespace sickbay::sim {

class SimProcesses final : public ProcessRunner {
 public:
  /// Both outlive it.
  SimProcesses(SimLoop& loop, const SimCluster& cluster) : loop_(loop), cluster_(cluster) {}
  void run(ProcessSpec spec, Done<ProcessOutcome> done) override;
  /// The caller died: no answer under way will be given.
  void drop_answers() { ++callers_; }

 private:
  SimLoop& loop_;
  const SimCluster& cluster_;
  std::uint64_t callers_ = 0;
};

}  // namespace sickbay::sim
