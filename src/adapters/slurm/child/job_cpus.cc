// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/job_cpus.h"

#include <unordered_map>

#include "adapters/slurm/child/fields.h"
#include "adapters/slurm/child/records.h"

namespace sickbay::slurm {
namespace {

struct Asked {
  time_t submit;  // a number is given again
  std::string nodes;
  std::vector<CpuGroup> cpus;
};
// One question for each job and set of nodes: from 24.11 on the records of jobs do not tell it any more.
std::unordered_map<JobId, Asked> asked;

/// As slurmctld tells it; nothing where it does not, or of other nodes (the job has just changed).
std::vector<CpuGroup> ask(const slurm_job_info_t& record) {
  resource_allocation_response_msg_t* raw = nullptr;
  if (call_for_job(slurm_allocation_lookup, record.job_id, &raw) != SLURM_SUCCESS || raw == nullptr)
    return {};
  const Allocation answer(raw);
  if (text(answer->node_list) != text(record.nodes)) return {};
  std::vector<CpuGroup> groups;
  for (std::uint32_t i = 0; i < answer->num_cpu_groups; ++i)
    groups.push_back({answer->cpus_per_node[i], answer->cpu_count_reps[i]});
  return groups;
}

}  // namespace

std::vector<CpuGroup> cpus_per_node(const slurm_job_info_t& record, const std::vector<std::string>& nodes) {
  if (record.job_resrcs == nullptr) return {};
  // Null where libslurm has it no more (a weak symbol).
  if (slurm_job_cpus_allocated_on_node_id) {
    std::vector<std::uint32_t> cpus;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const int n = slurm_job_cpus_allocated_on_node_id(record.job_resrcs, static_cast<int>(i));
      cpus.push_back(n > 0 ? static_cast<std::uint32_t>(n) : 0);
    }
    return group_cpus(cpus);
  }
  const auto known = asked.find(record.job_id);
  if (known != asked.end() && known->second.submit == record.submit_time &&
      known->second.nodes == text(record.nodes))
    return known->second.cpus;
  std::vector<CpuGroup> cpus = ask(record);
  // (What it did not tell is asked again the next time.)
  if (!cpus.empty())
    asked.insert_or_assign(record.job_id, Asked{record.submit_time, text(record.nodes), cpus});
  return cpus;
}

void keep_cpus_of(const std::unordered_set<JobId>& jobs) {
  std::erase_if(asked, [&jobs](const auto& known) { return !jobs.contains(known.first); });
}

}  // namespace sickbay::slurm
