// SPDX-License-Identifier: Apache-2.0
// Whether a step of a job runs on this node, and which jobs are here, by the list of processes alone.
//
// That there is none does not mean that there is no job: one that waits between two steps has no process
// here.
#pragma once
#include <optional>
#include <string_view>

#include "base/json.h"

namespace sickbay {

/// slurmd has a slurmstepd for each step.  (The one that only keeps a control group open, `slurmstepd
/// infinity` of Slurm 22.05 and later, is none.)  Nothing where the processes cannot be listed.  `root`: "/"
/// or the folder of a recorded machine.
std::optional<bool> a_step_runs_here(std::string_view root = "/");

/// The jobs that have processes here: [{"job": 17, "uid": 1001}], by number, 64 at most; `uid` is missing
/// where only Slurm's own processes are left.  Costs a walk over /proc.
Json jobs_here(std::string_view root = "/");

}  // namespace sickbay
