// SPDX-License-Identifier: GPL-2.0-or-later
// Nodes in and out of a running job, by Slurm's public means: a donor that expands it, and changes of its
// size.
//
// The order matters: a donor is found or allocated, then shrunk to no nodes (slurmctld moves them to the job
// in that call), then the job is asked for all it has.  Between any two of these this process may die; each
// step therefore reads first.  What was measured and tried: doc/design/nonstop_slurm.md.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// Args: DonorOrder and {now}; answers {donor, submit, state, nodes, expected_start}.
Result<Json> allocate_donor(const Json& args);
/// Args: {job: handle, donor: handle, nodes}; answers {nodes, cpus_per_node} of the job.
Result<Json> give_donor(const Json& args);
/// Args: {job: handle, nodes}; answers {nodes, cpus_per_node}.
Result<Json> drop_nodes(const Json& args);
/// Args: {job: handle, minutes}; answers the limit in minutes.
Result<Json> set_time_limit(const Json& args);
/// Sets FAIL with {reason} on {node}; answers whether it had to.
Result<Json> fail_node(const Json& args);
/// Lifts FAIL where the reason begins with {prefix}; answers whether it had to.
Result<Json> unfail_node(const Json& args);

}  // namespace sickbay::slurm
