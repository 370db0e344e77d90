// SPDX-License-Identifier: GPL-2.0-or-later
// libslurm's records as the model's plain values, and the owners of libslurm's answers.
#pragma once
#include <slurm/slurm.h>

#include <memory>
#include <string>
#include <vector>

#include "adapters/slurm/child/releases.h"
#include "model/job.h"

namespace sickbay::slurm {

/// How jobs are asked for: hidden partitions too, and SHOW_LOCAL, without which libslurm asks slurmctld for
/// its federation before each question (22.05), at the price of a second call.
inline constexpr std::uint16_t kJobs = SHOW_ALL | SHOW_LOCAL;

struct FreeJobs {
  void operator()(job_info_msg_t* p) const { slurm_free_job_info_msg(p); }
};
struct FreeNodes {
  void operator()(node_info_msg_t* p) const { slurm_free_node_info_msg(p); }
};
struct FreePartitions {
  void operator()(partition_info_msg_t* p) const { slurm_free_partition_info_msg(p); }
};
struct FreeConf {
  void operator()(slurm_conf_t* p) const { free_conf(p); }
};
struct FreeAllocation {
  void operator()(resource_allocation_response_msg_t* p) const {
    slurm_free_resource_allocation_response_msg(p);
  }
};
using Jobs = std::unique_ptr<job_info_msg_t, FreeJobs>;
using Nodes = std::unique_ptr<node_info_msg_t, FreeNodes>;
using Partitions = std::unique_ptr<partition_info_msg_t, FreePartitions>;
using Conf = std::unique_ptr<slurm_conf_t, FreeConf>;
using Allocation = std::unique_ptr<resource_allocation_response_msg_t, FreeAllocation>;

/// The words of a list with commas, as libslurm has many.
std::vector<std::string> comma_words(const char* list);

/// What slurmctld says of a job.  Times that are only plans (the expected start of a pending job, the
/// expected end of a running one) are left out: in JobInfo a time is something that happened.
JobInfo job_info(slurm_job_info_t& record);
/// What slurmctld says of a node; partitions only after slurm_populate_node_partitions().
NodeInfo node_info(const node_info_t& record);

}  // namespace sickbay::slurm
