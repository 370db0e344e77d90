// SPDX-License-Identifier: Apache-2.0
// Which jobs of a user depend on a job of his: what sickbayd and sickbay-slurm both need for it.
#pragma once
#include <string>
#include <string_view>

#include "model/ids.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// "dependency", "singleton" or "": why a job of `name` that was submitted with `dependency` counts.  `array`
/// is the array that the job asked about is of, 0 where it is of none.
std::string why_dependent(std::string_view dependency, std::string_view name, const DependentsOrder& order,
                          JobId array);

/// The value of --dependency in "sbatch -d singleton job.sh", "" where there is none.  The line is the words
/// with a blank between them, as Slurm keeps it.
std::string dependency_of_submit_line(std::string_view line);

}  // namespace sickbay::slurm
