// SPDX-License-Identifier: GPL-2.0-or-later
// What Sickbay does to jobs and nodes through libslurm, and the searches that go before.
//
// Every effect reads first, skips what is so already, and touches nothing that is not ours: job ids come
// again, and a reason on a node may be an operator's.  Arguments and answers: doc/formats/slurm-child.md.
// Source: doc/design/decisions.md 16, 17, 24.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// Submits V held; answers {job_id, submit}.
Result<Json> submit_verification(const Json& args);
/// The jobs of {uid} that hold {key} in their comment, lowest id first.
Result<Json> find_jobs(const Json& args);
/// Lets a held job go; answers whether it had to.
Result<Json> release_job(const Json& args);
/// Kills a job; answers whether it had to.
Result<Json> cancel_job(const Json& args);
Result<Json> set_node_down(const Json& args);
/// The {node} as it is now.
Result<Json> look_at_node(const Json& args);
/// The parts of slurm.conf that a submission in a user's name must follow.
Result<Json> read_configuration(const Json& args);

}  // namespace sickbay::slurm
