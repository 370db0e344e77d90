// SPDX-License-Identifier: Apache-2.0
// Slurm's words for what a job waits for: "afterok:12_3:14,singleton", as sbatch takes them, and as slurmctld
// shows them, "afterany:12_*(unfulfilled)?after:13+5(failed)".
#pragma once
#include <string_view>
#include <vector>

#include "model/ids.h"

namespace sickbay {

struct JobDependencies {
  std::vector<JobId> jobs;  ///< of a task of an array the array's
  bool singleton = false;   ///< waits for all of that user and name
};

/// Total: words that Slurm would refuse are passed over.
JobDependencies parse_job_dependencies(std::string_view text);

}  // namespace sickbay
