// SPDX-License-Identifier: Apache-2.0
// The jobs on a node, by Slurm's own squeue run as the caller: so each sees what his site lets him see.
#pragma once
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace sickbay::cli {

/// What squeue is asked for: a line for each job, its fields parted by tabs.
inline constexpr const char* kNodeJobsFormat = "%i\t%u\t%T\t%M\t%l\t%j";
/// Those lines as [{"job", "user", "state", "time", "limit", "name"}]; lines of another form are passed over.
Json parse_node_jobs(std::string_view text);

/// The jobs that have the node.  Errors: missing_program, slurm_away (squeue failed).
Result<Json> jobs_on_node(const std::string& node);

}  // namespace sickbay::cli
