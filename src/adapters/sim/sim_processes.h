// SPDX-License-Identifier: Apache-2.0
// SimProcesses: ports/process_runner.h on the simulated cluster's shared storage.
//
// Sickbay starts two kinds of programs beside Slurm's: `tail -c N -- PATH`, which reads what a job wrote, is
// answered from the cluster's outputs, and sickbay-folder, an order in JSON on its input, from its folders
// (sim_folders.h) unless a test says otherwise.  So no process and no file is needed.  Any other program is
// "not installed".
#pragma once
#include <functional>

#include "adapters/sim/sim_cluster.h"
#include "ports/process_runner.h"

namespace sickbay::sim {

class SimProcesses final : public ProcessRunner {
 public:
  /// Both outlive it.
  SimProcesses(SimLoop& loop, SimCluster& cluster) : loop_(loop), cluster_(cluster) {}
  void run(ProcessSpec spec, Done<ProcessOutcome> done) override;
  /// The caller died: no answer under way will be given.
  void drop_answers() { ++callers_; }
  /// Changes what sickbay-folder answers to an order; may be empty.
  std::function<void(const Json& order, Json& answer)> on_folder_order;

 private:
  SimLoop& loop_;
  SimCluster& cluster_;
  std::uint64_t callers_ = 0;
};

}  // namespace sickbay::sim
