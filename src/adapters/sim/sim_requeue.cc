// SPDX-License-Identifier: Apache-2.0
// A job begins anew, on other nodes, since sickbayd says so: as scontrol requeue, and scontrol update of its
// ExcNodeList while it waits.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

void SimCluster::requeue(RequeueOrder order, Done<Requeued> done) {
  answer<Requeued>("requeue", std::move(done),
                   [this, order = std::move(order)] { return begin_anew(order); });
}

void SimCluster::begin_now(JobHandle handle, Done<bool> done) {
  answer<bool>("begin_now", std::move(done), [this, handle = std::move(handle)]() -> Result<bool> {
    const auto found = job_of(handle);
    if (!found) return fail(found.error());
    Job& job = **found;
    if (!job.pending() || job.info.held || job.eligible <= loop_.now()) return false;
    job.eligible = loop_.now();
    schedule_soon();
    return true;
  });
}

Result<Requeued> SimCluster::begin_anew(const RequeueOrder& order) {
  const auto found = job_of(order.job);
  if (!found) return fail(found.error());
  Job& job = **found;
  const JobId job_id = order.job.job_id;
  if (job.info.array_job_id == job_id)
    return fail(ErrorCode::conflict, fmt::format("job {} cannot be requeued by itself", job_id));
  Requeued answer;
  // Else it has begun anew since: only the exclusion is left to be made.
  if (job.info.restart_cnt <= order.restart_cnt) {
    if (!job.may_requeue) return fail(ErrorCode::conflict, fmt::format("job {} may not be requeued", job_id));
    if (job.pending()) return fail(ErrorCode::conflict, fmt::format("job {} waits in the queue", job_id));
    // (Slurm takes it then, too, and has it wait for the end of the clean-up.)
    if (job.completing()) return fail(ErrorCode::busy, fmt::format("job {} is being cleaned up", job_id));
    if (job.running()) {
      log_end(job, " DUE TO JOB REQUEUE");
      put_back(job, "REQUEUED");
    } else {
      queue_again(job);
    }
    answer.did = true;
  }
  if (order.exclude.empty()) return answer;
  if (!job.pending()) {
    answer.said = fmt::format("job {} has begun already", job_id);
    return answer;
  }
  std::vector<NodeIndex> all = job.exclude;
  for (const std::string& name : order.exclude) {
    const auto node = node_index_.find(name);
    if (node == node_index_.end()) {
      answer.said = fmt::format("Invalid node name specified: {}", name);
      return answer;
    }
    all.push_back(node->second);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  job.exclude = std::move(all);
  job.possible = job.info.num_nodes <= nodes_that_fit(job);
  answer.excluded = true;
  return answer;
}

}  // namespace sickbay::sim
