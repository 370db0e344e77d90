// SPDX-License-Identifier: Apache-2.0
#include "service/watch_nonstop.h"

#include <algorithm>
#include <map>

#include "base/hostlist.h"
#include "ports/node_replacement.h"

namespace sickbay {
namespace {

// The parts of a job that are told, as model/job.h keeps them.
JobInfo info_of(const RunningJob& job) {
  JobInfo info;
  info.job_id = job.job_id;
  info.uid = job.uid;
  info.name = job.name;
  info.partition = job.partition;
  info.state = job.state;
  info.submit = job.submit;
  info.start = job.start;
  info.nodes = compress_hostlist(job.nodes);
  info.num_nodes = static_cast<std::uint32_t>(job.nodes.size());
  info.time_limit_s = job.time_limit_min * 60;
  info.array_job_id = job.array_job_id;
  info.array_task_id = job.array_task_id;
  info.reservation = job.reservation;
  return info;
}

// slurmctld starts nothing on a DOWN node, and takes it out of its job at once: a job on one means that the
// node came back, or went, since it was looked at.
bool is_on_down_node(const cluster::View& view, const std::vector<RunningJob>& jobs) {
  return std::ranges::any_of(jobs, [&](const RunningJob& job) {
    return std::ranges::any_of(job.nodes, [&](const std::string& node) { return view.is_down(node); });
  });
}

bool is_news(const JobInfo& before, const JobInfo& now) {
  return before.submit != now.submit || before.uid != now.uid || before.nodes != now.nodes ||
         before.time_limit_s != now.time_limit_s || before.partition != now.partition;
}

}  // namespace

Event running_job_seen(const RunningJob& job, TimePoint looked) {
  const std::string subject = running_subject(job.job_id);
  Json body = Json::object({{"run", subject},
                            {"job", info_of(job).to_json()},
                            {"cpus_per_node", cpu_groups_to_json(job.cpus_per_node)},
                            {"looked", to_micros(looked)}});
  // The short text has them in natural order; their CPUs are in Slurm's.
  if (job.nodes != sorted_hosts(job.nodes)) body.set("nodes", job.nodes);
  if (job.batch && !job.batch_host.empty()) body.set("batch_host", job.batch_host);
  if (job.het_job_id != 0) body.set("het_job_id", job.het_job_id);
  return new_event(subject, kJobSeen, std::move(body));
}

std::vector<Event> running_job_news(const cluster::View& view, const std::vector<RunningJob>& jobs,
                                    TimePoint looked) {
  std::vector<Event> events;
  std::set<JobId> listed;
  for (const RunningJob& job : jobs) {
    listed.insert(job.job_id);
    const std::string subject = running_subject(job.job_id);
    const JobInfo* before = view.job({job.job_id, subject, subject});
    if (before == nullptr || is_news(*before, info_of(job))) events.push_back(running_job_seen(job, looked));
  }
  for (const auto& [key, job] : view.jobs)
    if (key.run == key.subject && parse_running_subject(key.subject) && !listed.contains(key.job_id))
      events.push_back(
          new_event(key.subject, kJobLost, Json::object({{"run", key.run}, {"job_id", key.job_id}})));
  return events;
}

NonstopWatch::NonstopWatch(Loop& loop, ResourceManager& manager, const Seats& seats, AfterALook after_a_look)
    : loop_(loop), manager_(manager), seats_(seats), after_a_look_(std::move(after_a_look)) {}

void NonstopWatch::start() {
  started_ = true;
  plan();
}

void NonstopWatch::resume() {
  paused_ = false;
  plan();
}

Micros NonstopWatch::pace() const {
  Micros pace = Micros::max();
  for (const auto& seat : seats_.all())
    if (const auto wish = seat->wish().nonstop_jobs) pace = std::min(pace, *wish);
  return pace;
}

void NonstopWatch::plan() {
  if (!started_ || looking_ || paused_) return;
  TimePoint when = loop_.now();
  if (waiting_.empty()) {
    const Micros wished = pace();
    if (wished == Micros::max()) return;
    if (last_look_ != kNoTime) when = last_look_ + std::max<Micros>(wished, kShareOfTime * cost_.get());
  }
  next_look_.at(when);
}

void NonstopWatch::look_for(JobId job, std::function<void(Status)> then) {
  also_.insert(job);
  waiting_.push_back(std::move(then));
  plan();
}

void NonstopWatch::look() {
  if (looking_ || paused_ || (waiting_.empty() && pace() == Micros::max())) return;
  looking_ = true;
  const TimePoint began = loop_.now();
  auto waiting = std::exchange(waiting_, {});
  // A job that is known is asked for by its number: one that has lost all nodes but one would not be listed.
  std::set<JobId> also = also_;
  for (const auto& [key, job] : seats_.cluster().view.jobs)
    if (key.run == key.subject && parse_running_subject(key.subject)) also.insert(key.job_id);
  manager_.node_replacement().running_jobs(
      {also.begin(), also.end()},
      [this, began, waiting = std::move(waiting)](Result<std::vector<RunningJob>> jobs) {
        last_look_ = loop_.now();
        ++looks_;
        const auto end = [this, waiting](const Status& how) {
          looking_ = false;
          for (const auto& then : waiting) then(how);
          plan();
        };
        if (!jobs) return end(fail(jobs.error()));
        cost_.add(std::chrono::duration_cast<Micros>(last_look_ - began));
        // One that ran not then will not be asked for again.
        std::erase_if(also_, [&](JobId id) {
          return std::ranges::find(*jobs, id, &RunningJob::job_id) == jobs->end();
        });
        if (!is_on_down_node(seats_.cluster().view, *jobs)) {
          seen(*jobs, began);
          return end({});
        }
        after_a_look_([this, began, jobs = std::move(*jobs), end](const Status&) {
          seen(jobs, began);
          end({});
        });
      });
}

void NonstopWatch::seen(const std::vector<RunningJob>& jobs, TimePoint began) {
  if (auto news = running_job_news(seats_.cluster().view, jobs, began); !news.empty()) take_(std::move(news));
}

}  // namespace sickbay
