// SPDX-License-Identifier: Apache-2.0
// What sbatch prints when it has submitted a job.
#pragma once
#include <optional>
#include <string_view>

#include "model/ids.h"

namespace sickbay {

/// The job id in one line of sbatch's standard output: "Submitted batch job 123", also with " on cluster C"
/// behind it; with --parsable "123" or "123;C".  Nothing for any other line: sites put a wrapper around
/// sbatch that greets and advises.
std::optional<JobId> parse_sbatch_reply(std::string_view line, bool parsable);

}  // namespace sickbay
