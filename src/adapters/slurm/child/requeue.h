// SPDX-License-Identifier: GPL-2.0-or-later
// A job begins anew, on other nodes.
//
// Slurm changes the nodes that a job excludes only while it waits.  So a job that is to lose some is requeued
// and held in one call, and let go in the call that names them.  Who is cut off in between finds it held in
// Slurm's own words for that, and lets it go at the second try.  Source: doc/design/decisions.md 16.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// The job of a handle {and restart_cnt, exclude}; answers {did, excluded, said}.
Result<Json> requeue_job(const Json& args);

/// The job of a handle, where it waits for its begin time, waits for that no more; else false.  (slurmctld
/// puts the begin of a requeued job off by two minutes when the job has left its nodes: to ask before that is
/// in vain.)
Result<Json> begin_now(const Json& args);

}  // namespace sickbay::slurm
