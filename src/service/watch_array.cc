// SPDX-License-Identifier: Apache-2.0
#include "service/watch_array.h"

#include <algorithm>

#include "base/hostlist.h"
#include "model/event_kinds.h"
#include "model/slurm_state.h"

namespace sickbay {
namespace {

constexpr std::size_t kSteps = 10;  // of progress that are told
// A preempted task that Slurm will run again is back in the queue by then.
constexpr std::chrono::seconds kRequeueGrace{60};

std::string all_nodes(const std::string& before, const std::string& now) {
  if (before.empty()) return now;
  std::vector<std::string> names;
  for (const std::string& list : {before, now})
    if (auto some = expand_hostlist(list)) names.insert(names.end(), some->begin(), some->end());
  return compress_hostlist(names);
}

bool took_too_long(const JobInfo& job, std::int64_t longest_s) {
  return longest_s > 0 && job.end - job.start > std::chrono::seconds(longest_s);
}

}  // namespace

std::map<JobId, std::string> nodes_of_running(std::span<const JobInfo> records) {
  std::map<JobId, std::string> nodes;
  for (const JobInfo& job : records) {
    const auto state = parse_job_state(job.state, job.flags);
    if (state && !is_terminal(*state) && !job.nodes.empty()) nodes[job.job_id] = job.nodes;
  }
  return nodes;
}

ArrayLook look_at_array(const WatchedJob& watched, std::span<const JobInfo> records,
                        const std::map<JobId, std::string>& nodes_before, TimePoint now) {
  const WatchedArray& array = *watched.array;
  TaskIds seen, over;
  std::map<std::string, TaskIds> ended;
  Json failed = Json::array();
  std::size_t running = 0;
  for (const JobInfo& job : records) {
    if (job.uid != watched.uid) continue;  // ids come again: a stranger's array
    const auto ids = TaskIds::parse(job.array_task_id);
    const auto state = parse_job_state(job.state, job.flags);
    if (!ids || !state) continue;
    const TaskIds fresh = without(*ids, seen);  // slurmctld's word comes first, then accounting's
    seen.add(*ids);
    if (!is_terminal(*state)) {
      if (state->base != JobBase::pending) running += fresh.size();
      continue;
    }
    // Told already: an end once seen stays.
    const TaskIds told = array.told ? without(fresh, array.left) : TaskIds();
    const TaskIds news = without(fresh, told);
    if (news.empty()) continue;
    const RunEnd end = run_end(*state);
    if (end == RunEnd::waits && now < job.end + kRequeueGrace) continue;
    over.add(news);
    if (end != RunEnd::failed && !(end == RunEnd::completed && took_too_long(job, array.longest_s))) {
      ended[job.state].add(news);
      continue;
    }
    const auto before = nodes_before.find(job.job_id);
    for (const TaskId task : news.list())
      failed.push(Json::object(
          {{"task", task},
           {"job_id", job.job_id},
           {"state", job.state},
           {"exit_code", job.exit_code},
           {"exit_signal", job.exit_signal},
           {"nodes", all_nodes(before == nodes_before.end() ? "" : before->second, job.nodes)}}));
  }

  ArrayLook look;
  look.nothing = seen.empty();
  look.missing = without(array.told ? array.left : array.tasks, seen);
  if (seen.empty()) return look;
  // Before Slurm has spoken the user's expression stands for the tasks; then Slurm's word counts.
  const std::size_t all = array.told ? array.tasks.size() : seen.size();
  const std::size_t left_before = array.told ? array.left.size() : all;
  const std::size_t left = left_before - over.size();
  const auto step = [all](std::size_t still_left) { return kSteps * (all - still_left) / all; };
  const bool worth_telling = !array.told || failed.size() > 0 || (running > 0 && !array.begun) ||
                             (left == 0 && left_before > 0) || step(left) != step(left_before);
  if (!worth_telling) return look;
  Json groups = Json::array();
  for (const auto& [word, tasks] : ended)
    groups.push(Json::object({{"state", word}, {"tasks", tasks.text()}}));
  Event event = new_event(watched.subject, kArraySeen, Json::object({{"run", watched.run}}));
  if (!array.told) event.body.set("tasks", seen.text());
  event.body.set("running", running).set("ended", std::move(groups)).set("failed", std::move(failed));
  look.news = std::move(event);
  return look;
}

}  // namespace sickbay
