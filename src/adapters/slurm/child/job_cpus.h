// SPDX-License-Identifier: GPL-2.0-or-later
// How many CPUs a job has of each of its nodes.
//
// 22.05 reads them out of the job's own record.  From 24.11 on that record is closed, and slurmctld is asked
// for the job's allocation: once for each job and set of nodes, for its CPUs change with its nodes only.
#pragma once
#include <slurm/slurm.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "model/ids.h"
#include "model/running_job.h"

namespace sickbay::slurm {

/// In the order of `nodes`, which are the record's; empty where the job has none, or is just ending.
std::vector<CpuGroup> cpus_per_node(const slurm_job_info_t& record, const std::vector<std::string>& nodes);
/// Forgets what was asked about other jobs than these.
void keep_cpus_of(const std::unordered_set<JobId>& jobs);

}  // namespace sickbay::slurm
