// SPDX-License-Identifier: Apache-2.0
// Whose jobs wait for a job: as slurmctld and accounting together know it.
#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "model/job_dependency.h"

namespace sickbay::sim {

std::vector<Dependent> SimCluster::dependents_of(const DependentsOrder& order) const {
  std::vector<Dependent> found;
  // Who waits for an array waits for each of its tasks.
  const auto asked = jobs_.find(order.job_id);
  const JobId array = asked == jobs_.end() ? 0 : asked->second->info.array_job_id;
  for (const auto& [job_id, job] : jobs_) {
    const JobInfo& info = job->info;
    if (job_id == order.job_id || info.uid != order.uid || job->ended() || !job->key.empty()) continue;
    if (info.reason == "DependencyNeverSatisfied") continue;
    // As it was submitted, which accounting keeps: slurmctld forgets a condition once it has come true.
    const JobDependencies waits = parse_job_dependencies(job->dependency);
    if (std::ranges::any_of(waits.jobs,
                            [&](JobId id) { return id == order.job_id || (array != 0 && id == array); }))
      found.push_back({job_id, info.name, info.state, "dependency"});
    else if (waits.singleton && info.name == order.name)
      found.push_back({job_id, info.name, info.state, "singleton"});
  }
  return found;
}

}  // namespace sickbay::sim
