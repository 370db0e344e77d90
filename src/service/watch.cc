// SPDX-License-Identifier: Apache-2.0
#include "service/watch.h"

#include <algorithm>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "service/watch_all.h"
#include "service/watch_array.h"
#include "service/watch_queue.h"

namespace sickbay {
namespace {

constexpr int kLooksBeforeLost = 4;  // accounting lags slurmctld by some seconds
constexpr std::chrono::seconds kNodesComeBack{30};
// Backfill reckons anew every half minute: what a reader would plan by is news, not each correction.
bool moved(TimePoint before, TimePoint now) {
  constexpr std::chrono::hours kMuch{1};
  if (now == kNoTime || before == kNoTime) return now != before;
  return now > before + kMuch || before > now + kMuch;
}

// Fields whose change matters; a pending job's reason flips all the time and does not.
bool tells_something_new(const JobInfo& before, const JobInfo& now) {
  return before.state != now.state || before.restart_cnt != now.restart_cnt || before.held != now.held ||
         before.nodes != now.nodes || before.start != now.start || before.end != now.end ||
         before.exit_code != now.exit_code || before.exit_signal != now.exit_signal ||
         before.submit != now.submit || before.step_exit_code != now.step_exit_code ||
         before.step_exit_signal != now.step_exit_signal ||
         (now.start == kNoTime && now.end == kNoTime && moved(before.expected_start, now.expected_start));
}

// Job ids come again: without our key, or with another owner, it is somebody else's job.
bool is_stranger(const WatchedJob& watched, const JobInfo& job) {
  return job.uid != watched.uid ||
         (!watched.key.empty() && job.comment.find("sickbay:" + watched.key) == std::string::npos);
}

cluster::JobKey key_of(const WatchedJob& watched) { return {watched.job_id, watched.subject, watched.run}; }

Event about_job(const WatchedJob& watched, std::string_view kind) {
  return new_event(watched.subject, kind, Json::object({{"run", watched.run}}));
}

Event job_seen(const WatchedJob& watched, const JobInfo& job) {
  Event event = about_job(watched, kJobSeen);
  event.body.set("job", job.to_json());
  return event;
}

}  // namespace

Watch::Watch(Loop& loop, ResourceManager& manager, const Seats& seats, Micros floor)
    : loop_(loop),
      manager_(manager),
      seats_(seats),
      view_(seats.cluster().view),
      floor_(floor),
      nonstop_(loop, manager, seats, [this](auto then) { after_a_look(std::move(then)); }) {}

void Watch::start() {
  started_ = true;
  nonstop_.start();
  plan();
}

void Watch::resume() {
  paused_ = false;
  // What was seen and not kept is told with a look of now, not from memory: the last look may be older than
  // what we have done to a node since, and would look as if somebody had undone it.
  look_again_ = !unsettled_.empty();
  queue_told_ = false;
  nonstop_.resume();
  plan();
}

// --- when

Watch::Wishes Watch::wishes() const {
  Wishes all;
  for (const auto& seat : seats_.all()) {
    Wish wish = seat->wish();
    all.jobs = all.jobs || wish.jobs;
    // The site's floor stands against all but who says that jobs of users depend on it.
    const auto floored = [&](Micros every) { return wish.despite_floor ? every : std::max(every, floor_); };
    if (wish.nodes_every) all.nodes_every = std::min(all.nodes_every, floored(*wish.nodes_every));
    if (wish.all_jobs) all.all_every = std::min(all.all_every, floored(*wish.all_jobs));
    if (wish.lives) all.lives = std::min(all.lives, *wish.lives);
    all.queue = all.queue || wish.queue;
    all.boots = all.boots || wish.boots;
    all.queue_untold = all.queue_untold || wish.queue_untold;
  }
  return all;
}

std::vector<WatchedJob> Watch::watched_jobs() const {
  std::vector<WatchedJob> all;
  for (const auto& seat : seats_.all()) {
    std::vector<WatchedJob> jobs = seat->watched_jobs();
    all.insert(all.end(), std::make_move_iterator(jobs.begin()), std::make_move_iterator(jobs.end()));
  }
  return all;
}

LookedAtClosely Watch::closely() const {
  LookedAtClosely all;
  for (const auto& seat : seats_.all())
    for (const auto& [name, look] : seat->closely()) {
      const auto [place, fresh] = all.emplace(name, look);
      if (!fresh) place->second = std::max(place->second, look);
    }
  return all;
}

// Until there was a whole look one is tried at this pace, whether jobs are watched or not.
TimePoint Watch::jobs_due(const Wishes& wishes) const {
  if (!wishes.jobs && complete_) return kNever;
  if (last_jobs_look_ == kNoTime) return loop_.now();
  return last_jobs_look_ + std::max<Micros>(floor_, kShareOfTime * jobs_look_cost_.get());
}

TimePoint Watch::all_due(const Wishes& wishes) const {
  if (wishes.all_every == Micros::max()) return kNever;
  if (last_all_look_ == kNoTime) return loop_.now();
  return last_all_look_ + std::max<Micros>(wishes.all_every, kShareOfTime * all_look_cost_.get());
}

TimePoint Watch::due(const Wishes& wishes) const {
  if (!node_waiters_.empty() || look_again_ || last_look_ == kNoTime) return loop_.now();
  TimePoint due = std::min(jobs_due(wishes), all_due(wishes));
  if (wishes.nodes_every != Micros::max())
    due = std::min(due, last_look_ + std::max<Micros>(wishes.nodes_every, kShareOfTime * look_cost_.get()));
  if (!next_look_waiters_.empty()) due = std::min(due, asked_.ready());
  return due;
}

void Watch::plan() {
  nonstop_.plan();
  if (!started_ || looking_) return;
  const Wishes all = wishes();
  if (!all.jobs) forget_absent({});
  // With no job watched, no node out and nobody asking, Slurm is left alone.
  if (all.none() && complete_ && !awaited() && !look_again_) return;
  next_look_.at(due(all));
}

void Watch::with_nodes(std::chrono::seconds max_age, std::function<void(Status)> then) {
  if (complete_ && loop_.now() - last_look_ <= max_age) return then({});
  node_waiters_.push_back(std::move(then));
  plan();
}

void Watch::after_a_look(std::function<void(Status)> then) {
  next_look_waiters_.push_back(std::move(then));
  plan();
}

// --- one look

void Watch::look() {
  if (looking_ || (paused_ && !awaited())) return;
  const Wishes all = wishes();
  if (all.none() && complete_ && !awaited() && !look_again_) return;  // who wished has changed his mind
  looking_ = true;
  RefreshOrder order;
  order.begun = all_due(all) <= loop_.now();
  // A job that two engines watch is asked for once.  Who only wants nodes does not pay for a look at jobs;
  // where all jobs are looked at, those that are watched cost nothing more.
  const bool with_jobs = jobs_due(all) <= loop_.now() || (order.begun && all.jobs);
  std::set<JobId> asked, arrays;
  if (with_jobs)
    for (const WatchedJob& job : watched_jobs())
      if ((job.array ? arrays : asked).insert(job.job_id).second)
        (job.array ? order.arrays : order.jobs).push_back(job.job_id);
  const TimePoint began = loop_.now();
  auto this_look = std::exchange(next_look_waiters_, {});
  auto looked = [this, began, with_jobs, order, this_look = std::move(this_look)](
                    const std::optional<std::vector<WaitingJobs>>& queue, Result<Snapshot> snapshot) {
    looking_ = false;
    last_look_ = loop_.now();
    if (with_jobs) last_jobs_look_ = last_look_;
    if (order.begun) last_all_look_ = last_look_;
    // A slurmctld that is away costs seconds to find out, and nothing to it: only answers stretch the
    // pauses.
    if (snapshot) {
      const Micros took = std::chrono::duration_cast<Micros>(last_look_ - began);
      look_cost_.add(took);
      if (with_jobs) jobs_look_cost_.add(took);
      if (order.begun) all_look_cost_.add(took);
      asked_.spend(look_cost_.get(), last_look_);
    }
    ++health_.looks;
    if (health_.slurm.has_value() != snapshot.has_value() || health_.since == kNoTime)
      health_.since = last_look_;
    if (snapshot) {
      health_.slurm = {};
      see(order, queue, std::move(*snapshot));
    } else {
      health_.slurm = fail(snapshot.error());
    }
    for (auto& then : std::exchange(node_waiters_, {})) then(health_.slurm);
    for (const auto& then : this_look) then(health_.slurm);
    plan();
  };
  if (!all.queue)
    return manager_.refresh(order, [looked](Result<Snapshot> snapshot) { looked({}, std::move(snapshot)); });
  // The queue first: who is told of an idle node shall know who waited for it.
  manager_.waiting([this, order, looked](Result<std::vector<WaitingJobs>> queue) {
    if (!queue) return looked({}, fail(std::move(queue.error())));
    manager_.refresh(order, [looked, queue = std::move(*queue)](Result<Snapshot> snapshot) {
      looked(queue, std::move(snapshot));
    });
  });
}

void Watch::see(const RefreshOrder& order, const std::optional<std::vector<WaitingJobs>>& queue,
                Snapshot snapshot) {
  if (!paused_) look_again_ = false;
  std::vector<Event> events;
  const Wishes wished = wishes();
  if (queue) {
    const std::set<std::string> wanted = wanted_partitions(*queue);
    if (!queue_told_ || wished.queue_untold || wanted != view_.wanted_partitions)
      events.push_back(
          new_event("cluster", kQueueSeen,
                    Json::object({{"partitions", std::vector<std::string>(wanted.begin(), wanted.end())}})));
  }
  queue_told_ = queue.has_value();
  if (snapshot.controller_boot != kNoTime && snapshot.controller_boot != view_.controller_boot)
    events.push_back(
        new_event("cluster", kControllerSeen, Json::object({{"boot", to_micros(snapshot.controller_boot)}})));
  for (NodeInfo& node : snapshot.nodes) {
    unsettled_.insert(node.name);
    nodes_[node.name] = std::move(node);
  }
  for (const std::string& name : snapshot.gone_nodes) {
    unsettled_.insert(name);
    nodes_.erase(name);
  }
  for (Event& event : node_news(wished)) events.push_back(std::move(event));
  std::vector<WatchedJob> missing;
  for (Event& event : job_news(order, snapshot, missing)) events.push_back(std::move(event));

  if (auto news = outcome_news(snapshot.begun, loop_.now(), wished.lives)) events.push_back(std::move(*news));

  const bool first = !complete_;
  complete_ = true;
  if (!missing.empty()) ask_history(std::move(missing));
  take_(std::move(events));
  if (first && completed_) completed_();
}

// One event for all nodes that look alike now.  A name leaves `unsettled_` when the view has what we saw,
// which is after the event was taken in: one that was turned away is told again with the next look.
std::vector<Event> Watch::node_news(const Wishes& wished) {
  const LookedAtClosely closely = this->closely();
  std::set<std::string> names = std::exchange(unsettled_, {});
  // Who is looked at closely only now has not changed in Slurm, and yet there is more to tell of it.
  for (const auto& [name, look] : closely) names.insert(name);
  if (wished.boots && !std::exchange(boots_told_, wished.boots))
    for (const auto& [name, info] : nodes_) names.insert(name);
  boots_told_ = wished.boots;
  std::map<std::string, std::pair<Json, std::vector<std::string>>> groups;
  std::vector<std::string> gone;
  for (const std::string& name : names) {
    const auto seen = nodes_.find(name);
    const cluster::Node* known = view_.node(name);
    if (seen == nodes_.end()) {
      if (known == nullptr) continue;
      gone.push_back(name);
    } else {
      const auto wish = closely.find(name);
      const bool near = wish != closely.end();
      // An engine that has acted waits for what Slurm shows since, also where that is what it showed before.
      const bool waited_for = near && known && known->look <= wish->second;
      Json group = cluster::group_of(seen->second, near);
      const TimePoint boot = seen->second.boot_time;
      if (wished.boots) group.set("boot", to_micros(boot));
      // (While Slurm has not heard of a node it tells no boot time: that is no news, and its next one is.)
      const bool booted = wished.boots && known && boot != kNoTime &&
                          (known->boot == kNoTime || booted_since(boot, known->boot));
      if (known && !waited_for && !booted && !cluster::is_news(*known, cluster::node_of(group), near))
        continue;
      auto& [body, alike] = groups[group.dump()];
      body = std::move(group);
      alike.push_back(name);
    }
    unsettled_.insert(name);
  }
  Json list = Json::array();
  for (auto& [text, group] : groups) {
    Json whole = Json::object({{"nodes", compress_hostlist(group.second)}});
    for (const auto& [key, value] : group.first.members()) whole.set(key, value);
    list.push(std::move(whole));
  }
  if (!gone.empty()) list.push(Json::object({{"nodes", compress_hostlist(gone)}, {"gone", true}}));
  if (list.size() == 0) return {};
  Json body = Json::object({{"groups", std::move(list)}});
  if (wished.boots) body.set("boots", true);
  return {new_event("cluster", kNodesSeen, std::move(body))};
}

std::vector<Event> Watch::job_news(const RefreshOrder& order, const Snapshot& snapshot,
                                   std::vector<WatchedJob>& missing) {
  std::map<JobId, const JobInfo*> found;
  for (const JobInfo& job : snapshot.jobs) found[job.job_id] = &job;
  const std::set<JobId> asked(order.jobs.begin(), order.jobs.end());
  const std::set<JobId> arrays(order.arrays.begin(), order.arrays.end());
  std::map<JobId, std::vector<JobInfo>> tasks;
  for (const JobInfo& task : snapshot.tasks) tasks[task.array_job_id].push_back(task);
  std::erase_if(task_nodes_, [&](const auto& entry) { return !arrays.contains(entry.first); });
  std::vector<Event> events;
  // Wishes are asked for anew: a job may have come or gone while the look was under way.
  std::vector<WatchedJob> jobs = watched_jobs();
  forget_absent(jobs);
  for (WatchedJob& watched : jobs) {
    if (watched.array) {
      if (arrays.contains(watched.job_id)) array_news(watched, tasks[watched.job_id], events, missing);
      continue;
    }
    const auto it = found.find(watched.job_id);
    if (it == found.end() || is_stranger(watched, *it->second)) {
      // (One that was not asked for is not missing.)
      if (asked.contains(watched.job_id)) missing.push_back(std::move(watched));
      continue;
    }
    absent_looks_.erase(key_of(watched));
    const JobInfo* before = view_.job(key_of(watched));
    if (hides_nodes(watched, *it->second, before)) continue;
    if (before == nullptr || tells_something_new(*before, *it->second))
      events.push_back(job_seen(watched, *it->second));
  }
  return events;
}

// slurmctld takes nodes off the list of a completing job as they come free, and one that is DOWN at once.
// When the job is through, all of them are there again (tried on 22.05).  An end that is the first thing seen
// of a job would be told with too few, so it waits for that, but not for an epilog of minutes.
bool Watch::hides_nodes(const WatchedJob& watched, const JobInfo& job, const JobInfo* before) {
  const auto state = parse_job_state(job.state, job.flags);
  const bool hides = state && is_terminal(*state) && state->has(JobFlag::completing) &&
                     (before == nullptr || before->nodes.empty());
  if (!hides) {
    completing_since_.erase(key_of(watched));
    return false;
  }
  const auto since = completing_since_.emplace(key_of(watched), loop_.now()).first->second;
  return loop_.now() < since + kNodesComeBack;
}

// One that slurmctld has forgotten in part is told of when accounting has spoken, too.
void Watch::array_news(WatchedJob& watched, std::vector<JobInfo>& records, std::vector<Event>& events,
                       std::vector<WatchedJob>& missing) {
  std::map<JobId, std::string>& nodes = task_nodes_[watched.job_id];
  ArrayLook look = look_at_array(watched, records, nodes, loop_.now());
  if (!look.missing.empty() || look.nothing) {
    array_records_[watched.job_id] = std::move(records);
    missing.push_back(std::move(watched));
    return;
  }
  nodes = nodes_of_running(records);
  absent_looks_.erase(key_of(watched));
  if (look.news) events.push_back(std::move(*look.news));
}

// What slurmctld and accounting say together.
void Watch::array_history(const WatchedJob& watched, const std::vector<JobInfo>& past,
                          std::vector<Event>& events) {
  std::vector<JobInfo> records = std::move(array_records_[watched.job_id]);
  array_records_.erase(watched.job_id);
  std::map<JobId, std::string>& nodes = task_nodes_[watched.job_id];
  const auto running = nodes_of_running(records);
  for (const JobInfo& job : past)
    if (job.array_job_id == watched.job_id) records.push_back(job);
  ArrayLook look = look_at_array(watched, records, nodes, loop_.now());
  nodes = running;
  const bool lost = (look.nothing || (watched.array->told && !look.missing.empty())) &&
                    ++absent_looks_[key_of(watched)] >= kLooksBeforeLost;
  if (look.news) events.push_back(std::move(*look.news));
  if (!lost) return;
  absent_looks_.erase(key_of(watched));
  events.push_back(about_job(watched, kJobLost));
  events.back().body.set("job_id", watched.job_id).set("tasks", look.missing.text());
}

// Nobody looks again for a job that nobody watches any more, so nothing else would drop it.
void Watch::forget_absent(const std::vector<WatchedJob>& jobs) {
  if (absent_looks_.empty() && completing_since_.empty()) return;
  std::set<cluster::JobKey> watched;
  for (const WatchedJob& job : jobs) watched.insert(key_of(job));
  const auto nobodys = [&](const auto& entry) { return !watched.contains(entry.first); };
  std::erase_if(absent_looks_, nobodys);
  std::erase_if(completing_since_, nobodys);
}

// Of jobs that slurmctld has forgotten accounting knows the end, some seconds later.
void Watch::ask_history(std::vector<WatchedJob> missing) {
  std::vector<JobId> ids;
  for (const WatchedJob& watched : missing) ids.push_back(watched.job_id);
  manager_.history(std::move(ids), [this, missing = std::move(missing)](Result<std::vector<JobInfo>> past) {
    if (!past) return;  // accounting is away: the next look asks again
    // What was watched when we asked may be another job of that run by now, or none.
    std::map<cluster::JobKey, WatchedJob> wanted;
    for (WatchedJob& watched : watched_jobs()) wanted.insert_or_assign(key_of(watched), std::move(watched));
    std::vector<Event> events;
    for (const WatchedJob& watched : missing) {
      const auto wish = wanted.find(key_of(watched));
      if (wish == wanted.end()) continue;
      if (watched.array) {
        if (wish->second.array) array_history(wish->second, *past, events);
        continue;
      }
      const JobInfo* before = view_.job(key_of(watched));
      const JobInfo* ours = nullptr;
      for (const JobInfo& job : *past) {
        if (job.job_id != watched.job_id || is_stranger(watched, job)) continue;
        // Without a key the submit time tells the job from a later one with the same id.
        if (watched.key.empty() && before && before->submit != kNoTime && job.submit < before->submit)
          continue;
        const auto state = parse_job_state(job.state);
        if (state && is_terminal(*state)) ours = &job;
      }
      if (ours != nullptr) {
        JobInfo job = *ours;
        if (before) {  // accounting does not keep these
          job.std_out = before->std_out;
          job.std_err = before->std_err;
          if (job.nodes.empty()) job.nodes = before->nodes;
        }
        events.push_back(job_seen(watched, job));
      } else if (++absent_looks_[key_of(watched)] >= kLooksBeforeLost) {
        events.push_back(about_job(watched, kJobLost));
        events.back().body.set("job_id", watched.job_id);
      } else {
        continue;
      }
      absent_looks_.erase(key_of(watched));
    }
    if (!events.empty()) take_(std::move(events));
  });
}

}  // namespace sickbay
