// SPDX-License-Identifier: Apache-2.0
// Whether a submission is a job array, as sbatch will see it.
#pragma once
#include <optional>
#include <string>

#include "model/job.h"

namespace sickbay {

/// The task ids that the user asked for, in his own words: "0-19%4".  The command line wins over the variable
/// SBATCH_ARRAY_INX, and that over the script; an empty --array makes an ordinary job of it (tried on 22.05).
/// Nothing also where line or script cannot be read: sbatch will say so.
std::optional<std::string> array_of(const Submission& submission);

}  // namespace sickbay
