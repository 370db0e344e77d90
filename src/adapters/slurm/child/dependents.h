// SPDX-License-Identifier: GPL-2.0-or-later
// Which jobs of a user may depend on a job of his.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// For {job_id, uid, name} {array_job_id, jobs}: those that have not ended and can start, with why, and ""
/// for it where the job has begun and shows no dependency any more.
Result<Json> find_dependents(const Json& args);
/// ResourceManager::waiting(): {waiting: [{partition, reason, jobs}]}.
Result<Json> list_waiting_jobs();

}  // namespace sickbay::slurm
