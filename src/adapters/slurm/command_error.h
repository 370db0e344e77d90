// SPDX-License-Identifier: Apache-2.0
// What it means when a command of Slurm's (sbatch, scontrol) fails: its words are all there is.
#pragma once
#include <string_view>

#include "ports/process_runner.h"

namespace sickbay::slurm {

/// slurm_away, timed_out (`unclear` says what may have happened all the same), munge_away, or
/// refused_by_slurm with its words.
Error command_error(const ProcessOutcome& outcome, std::string_view program, std::string_view unclear);

}  // namespace sickbay::slurm
