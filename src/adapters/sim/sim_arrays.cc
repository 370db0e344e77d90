// SPDX-License-Identifier: Apache-2.0
// Job arrays as slurmctld keeps them: one record, under the array's own number, for all tasks that wait.  A
// task gets a record and a number when it starts; the last one takes over the array's. Simplified: what a
// killed slurmctld has not saved stays a record of its own.
#include <fmt/format.h>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

bool SimCluster::throttled(const Job& job) const {
  if (job.array_throttle == 0) return false;
  std::size_t running = 0;
  for (const JobId id : arrays_.at(job.info.array_job_id))
    if (const auto other = jobs_.find(id); other != jobs_.end() && other->second->running()) ++running;
  return running >= job.array_throttle;
}

/// A record of its own for one of the tasks that wait in `waiting`, which has more than one.
SimCluster::Job& SimCluster::split(Job& waiting, TaskId task) {
  auto own = std::make_unique<Job>(waiting);
  // A killed slurmctld gives ids again (sim_restart.cc): some above the next one may be taken.
  while (jobs_.count(next_id_)) ++next_id_;
  own->info.job_id = next_id_++;
  own->info.array_task_id = fmt::format("{}", task);
  TaskIds others, one;
  if (auto all = TaskIds::parse(waiting.info.array_task_id)) others = std::move(*all);
  one.add(task);
  others.remove(one);
  waiting.info.array_task_id = others.text();
  arrays_[waiting.info.array_job_id].insert(own->info.job_id);
  Job& made = *own;
  jobs_[made.info.job_id] = std::move(own);
  return made;
}

JobId SimCluster::task_job(JobId array, TaskId task) {
  const auto ids = arrays_.find(array);
  if (ids == arrays_.end()) return 0;
  // A copy: split() adds to it.
  for (const JobId id : std::set<JobId>(ids->second)) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) continue;
    const auto tasks = TaskIds::parse(found->second->info.array_task_id);
    if (!tasks || !tasks->contains(task)) continue;
    if (tasks->size() == 1) return id;
    const Job& own = split(*found->second, task);
    if (!own.info.held) queue_.insert(own.info.job_id);
    return own.info.job_id;
  }
  return 0;
}

/// The names of its files, as far as they can be told yet.
void SimCluster::name_outputs(Job& job) {
  JobInfo& info = job.info;
  const auto named = [&](std::string pattern) {
    const std::pair<const char*, std::string> kWords[] = {{"%j", fmt::format("{}", info.job_id)},
                                                          {"%A", fmt::format("{}", info.array_job_id)},
                                                          {"%a", info.array_task_id}};
    for (const auto& [word, text] : kWords)
      for (auto at = pattern.find(word); at != std::string::npos; at = pattern.find(word))
        pattern.replace(at, 2, text);
    return pattern;
  };
  info.std_out = named(job.out_pattern);
  if (!info.std_out.starts_with('/')) info.std_out = info.work_dir + "/" + info.std_out;
  info.std_err = job.err_pattern.empty() ? info.std_out : named(job.err_pattern);
}

bool SimCluster::scancel(JobId job_id) {
  const auto array = arrays_.find(job_id);
  if (array == arrays_.end()) return end_by_hand(job_id);
  bool ended = false;
  for (const JobId id : std::set<JobId>(array->second)) ended = end_by_hand(id) || ended;
  return ended;
}

}  // namespace sickbay::sim
