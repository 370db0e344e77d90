// SPDX-License-Identifier: Apache-2.0
// The donor of a job: what it asks Slurm for, and which jobs cannot have one.
//
// Pure, and on both sides of the socket pair.  The donor asks for nodes like those that the job has: same
// partition, account, QOS, features, memory and CPUs; Slurm takes a donor of another partition or QOS
// for no expansion.  It bears no step, no script and no licences (the job has kept its own). Which kinds of
// jobs can be changed was tried, each: doc/design/nonstop_slurm.md.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/running_job.h"
#include "ports/node_replacement.h"

namespace sickbay::slurm {

/// slurmctld's own highest priority, from which it counts down for those that ask for "top".
inline constexpr std::uint32_t kTopPriority = 0xffff0000;

/// Of libslurm's job description what differs from its defaults; empty and 0 are left unset.
struct DonorRequest {
  std::string name, comment, submit_line, dependency;
  std::uint32_t uid = 0, gid = 0;
  std::string account, partition, qos, reservation, features;
  std::uint32_t nodes = 1;
  std::uint32_t cpus_per_node = 1;  ///< at least; as many as the best of the lost ones
  std::uint32_t tasks_per_node = 0, cpus_per_task = 0, threads_per_core = 0, core_spec = 0;
  std::uint64_t memory_mib = 0;
  bool memory_per_cpu = false;
  std::string oversubscribe;
  std::vector<std::string> exclude, node_list;
  std::uint32_t time_limit_min = 0;  ///< 0: unlimited
  bool immediate = true;
};

/// Whether a job can be given nodes.  Errors: conflict: it does not run, or it has GRES, which Slurm moves
/// from no job to another.  Asked before a donor is made and before it is shrunk: slurmctld finds fault only
/// in the middle of that, and the donor then hangs in COMPLETING with its node (22.05).
Status can_grow(const RunningJob& job);

/// Errors: conflict (the job does not run, or is of a kind that cannot be changed), bad_input (the order
/// contradicts itself).
Result<DonorRequest> donor_request(const RunningJob& job, const DonorOrder& order, TimePoint now);

/// Whether a spare pool that is there differs from the one that is wanted.
bool differs(const SparePool& is, const SparePool& wanted);

}  // namespace sickbay::slurm
