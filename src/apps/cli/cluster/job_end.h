// SPDX-License-Identifier: Apache-2.0
// Waiting for a job of the caller to end.  `sbatch --wait` looks after 2, 8 and then each 32 s: who asks of a
// job of ten seconds would be told half a minute late.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "model/ids.h"

namespace sickbay::cli {

/// What `scontrol --oneliner show job ID` says of its end, errors of scontrol in the same text: the exit
/// code, 128 + signal where it died of one, 1 where it ended badly with neither, or where Slurm knows of the
/// job no more. Nothing: it goes on, or nobody could be asked.
std::optional<int> job_end(std::string_view shown);
/// How long until one looks again, after `waited`: a second, later a thirtieth of the wait, half a minute at
/// most.
std::chrono::milliseconds pause_after(std::chrono::milliseconds waited);
/// Looks until the job has ended, and gives back job_end's code.  An interrupt from the keyboard ends this
/// program, and not the job.  Errors: those of run_child.
Result<int> wait_for_end(JobId job);

}  // namespace sickbay::cli
