// SPDX-License-Identifier: Apache-2.0
// A running job as those see it who give it another node: what it has, and what it asked for.
//
// model/job.h keeps what every engine needs of a job; this is the rest, read from slurmctld only for jobs in
// which a node may be replaced.  Words are Slurm's.  Source: doc/design/nonstop_slurm.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/slurm_state.h"

namespace sickbay {

/// `count` nodes one after another, of which the job has `cpus` each: Slurm's "2(x3)".
struct CpuGroup {
  std::uint32_t cpus = 0, count = 0;
  friend bool operator==(const CpuGroup&, const CpuGroup&) = default;
};

/// One number for each node, in groups, and back.
std::vector<CpuGroup> group_cpus(const std::vector<std::uint32_t>& cpus);
std::vector<std::uint32_t> ungroup_cpus(const std::vector<CpuGroup>& groups);
/// "2(x3),4": as Slurm's SLURM_JOB_CPUS_PER_NODE has it.
std::string cpus_per_node_text(const std::vector<CpuGroup>& groups);
Json cpu_groups_to_json(const std::vector<CpuGroup>& groups);
std::vector<CpuGroup> cpu_groups_from_json(const Json& json);

struct RunningJob {
  JobId job_id = 0;
  std::uint32_t uid = 0, gid = 0;
  TimePoint submit = kNoTime, start = kNoTime;
  std::string name;
  std::string state;               ///< base state: "RUNNING", "SUSPENDED", or what it ended as
  std::vector<std::string> flags;  ///< "RESIZING", "COMPLETING", ...

  std::vector<std::string> nodes;       ///< that it has, in Slurm's order
  std::vector<CpuGroup> cpus_per_node;  ///< of these nodes, in that order
  bool batch = false;                   ///< it has a batch script...
  std::string batch_host;               ///< ...which runs there
  std::int64_t time_limit_min = 0;      ///< 0 = unlimited

  std::string partition, account, qos, reservation, features;
  std::string tres_per_node, tres_per_socket, tres_per_task, tres_per_job, cpus_per_tres, mem_per_tres;
  std::string gres;              ///< all it has: "gpu:4"
  std::uint64_t memory_mib = 0;  ///< per node, or per CPU; 0: not asked for
  bool memory_per_cpu = false;
  std::string oversubscribe;  ///< "NO" (--exclusive), "USER", "MCS", "YES", "OK"
  std::uint32_t tasks_per_node = 0, cpus_per_task = 0, threads_per_core = 0;  ///< 0: not asked for
  std::uint32_t core_spec = 0;                                                ///< 0: none

  std::vector<std::string> excluded;  ///< nodes that its owner did not want

  JobId het_job_id = 0;  ///< of its leader; 0: no heterogeneous job
  std::uint32_t het_offset = 0;
  JobId array_job_id = 0;
  std::string array_task_id;

  Json to_json() const;
  static RunningJob from_json(const Json& json);
  friend bool operator==(const RunningJob&, const RunningJob&) = default;
};

/// Whether a job can be given nodes or lose some.  Errors: conflict, with the reason and what to do.
Status can_change(const RunningJob& job);
/// What it has without `drop`, in Slurm's order.  Errors: conflict (nothing would be left, or its batch
/// script would lose its own node; can_change).
Result<std::vector<std::string>> nodes_left(const RunningJob& job, const std::vector<std::string>& drop);

/// What a node's state means to the jobs on it.
enum class NodeFault : std::uint8_t {
  none,
  failing,  ///< in Slurm's FAIL state, and still in its job
  failed,   ///< DOWN: Slurm has taken it out of its job
};
std::string_view to_string(NodeFault fault);
NodeFault fault_of(const NodeState& state);

}  // namespace sickbay
