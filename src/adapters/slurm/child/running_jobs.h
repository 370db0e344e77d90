// SPDX-License-Identifier: GPL-2.0-or-later
// Running jobs in detail: what must be known of a job before it is given another node.
#pragma once
#include <string>
#include <vector>

#include "adapters/slurm/child/job_handle.h"
#include "adapters/slurm/child/records.h"
#include "model/running_job.h"

namespace sickbay::slurm {

/// A record that was asked for with SHOW_DETAIL: without, slurmctld tells no CPUs of the nodes.
RunningJob running_job(slurm_job_info_t& record);

/// The job that `handle` means, and its record in short.  Errors: not_found (also a stranger's).
struct SeenJob {
  JobInfo info;
  RunningJob job;
  std::string why_held{};  ///< in Slurm's words, where it has some: "job requeued in held state"
};
Result<SeenJob> see_job(const Handle& handle);

/// The nodes of all parts of a heterogeneous job.
Result<std::vector<std::string>> nodes_of_het_job(JobId leader);

/// The running jobs of more than one node and those of {also}; donors are left out.
Result<Json> list_running_jobs(const Json& args);
/// The job of a handle.
Result<Json> look_at_running_job(const Json& args);

}  // namespace sickbay::slurm
