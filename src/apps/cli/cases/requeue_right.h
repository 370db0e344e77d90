// SPDX-License-Identifier: Apache-2.0
// Whether the user lets Slurm put the job back into the queue, as sbatch will see it.
#pragma once
#include <vector>

#include "model/sbatch_options.h"

namespace sickbay::cli {

/// What he said last, in sbatch's order: the command line wins over this process's variables
/// SBATCH_NO_REQUEUE and SBATCH_REQUEUE, and they over the script.  False also where he said nothing: then it
/// is the site's (JobRequeue), and not his word.
bool allows_requeue(const SbatchLine& line, const std::vector<GivenOption>& in_script);

}  // namespace sickbay::cli
