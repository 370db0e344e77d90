// SPDX-License-Identifier: Apache-2.0
#include "service/controller.h"

#include <algorithm>

#include "base/hostlist.h"
#include "model/slurm_state.h"
#include "service/effects.h"

namespace sickbay {
namespace {

constexpr std::chrono::milliseconds kFullDiskRetry{1000};
constexpr std::chrono::seconds kNodesFloor{30};
constexpr int kLooksBeforeLost = 4;  // accounting lags slurmctld by some seconds
constexpr int kEngineTurns = 16;     // of one round: an engine that never settles is a fault of ours

// Fields whose change matters to a case; a pending job's reason flips all the time and does not.
bool tells_something_new(const JobInfo& before, const JobInfo& now) {
  return before.state != now.state || before.restart_cnt != now.restart_cnt || before.held != now.held ||
         before.nodes != now.nodes || before.start != now.start || before.end != now.end ||
         before.exit_code != now.exit_code || before.exit_signal != now.exit_signal ||
         before.submit != now.submit;
}

std::string node_state_text(const NodeInfo& node) {
  std::string text = node.state;
  for (const std::string& flag : node.flags) text += "+" + flag;
  return text;
}

}  // namespace

Controller::Controller(Loop& loop, Journal& journal, ResourceManager& manager, Effects& effects,
                       const Config& config)
    : loop_(loop),
      journal_(journal),
      manager_(manager),
      effects_(effects),
      config_(config),
      cases_(config.identify),
      drains_(config.drain) {}

TimePoint Controller::now() const { return std::max(last_stamp_, loop_.now()); }

void Controller::on_replayed(std::function<void(const Event&)> listener) {
  SB_CHECK(!replayed_, "the journal is read once: who listens must be there before");
  replay_listeners_.push_back(std::move(listener));
}

Status Controller::replay() {
  replayed_ = true;
  auto status = journal_.read(0, [&](const Event& event) {
    for (EngineSeat* seat : seats_) seat->apply(event);
    ledger_.apply(event);
    for (const auto& listener : replay_listeners_) listener(event);
    return true;
  });
  if (!status) return status;
  last_case_given_ = state().last_case;
  last_stamp_ = journal_.last_stamp();
  return {};
}

void Controller::forget(std::int64_t no) {
  Event event;
  event.subject = case_name(no);
  event.kind = kArchived;
  cases_.apply(event);
}

void Controller::start() {
  started_ = true;
  for (EngineSeat* seat : seats_) seat->touch_all();
  plan_refresh();
}

void Controller::take(std::vector<Event> events, std::function<void(Status)> kept) {
  if (stuck_) {
    // What we saw ourselves is seen again later; a caller must know that his word was not kept.
    if (kept)
      loop_.post(
          [kept = std::move(kept), why = health_.journal.error()]() mutable { kept(fail(std::move(why))); });
    return;
  }
  inbox_.emplace_back(std::move(events), std::move(kept));
  schedule_round();
}

void Controller::take(std::vector<Event> events, Json answer, Done<Json> done) {
  if (events.empty()) return done(std::move(answer));
  take(std::move(events), [answer = std::move(answer), done = std::move(done)](Status kept) mutable {
    if (!kept) return done(fail(std::move(kept.error())));
    done(std::move(answer));
  });
}

void Controller::schedule_round() {
  if (round_scheduled_ || stuck_) return;
  round_scheduled_ = true;
  loop_.post([this] {
    round_scheduled_ = false;
    round();
  });
}

void Controller::round() {
  const TimePoint began = loop_.now();
  for (auto& [events, kept] : inbox_) {
    for (Event& event : events) absorb(std::move(event));
    if (kept) to_answer_.push_back(std::move(kept));
  }
  inbox_.clear();
  if (started_ && complete_) ask_engines();
  ++health_.rounds;
  if (commit()) after_commit();
  health_.longest_round =
      std::max(health_.longest_round, std::chrono::duration_cast<Micros>(loop_.now() - began));
}

void Controller::absorb(Event event) {
  event.at = last_stamp_ = now();
  for (EngineSeat* seat : seats_) seat->apply(event);
  ledger_.apply(event);
  batch_.push_back(std::move(event));
}

void Controller::ask_engines() {
  for (int turn = 0;; ++turn) {
    SB_CHECK(turn < kEngineTurns, "the engines do not settle");
    bool asked = false;
    for (EngineSeat* seat : seats_) asked |= ask(*seat);
    if (!asked) return;
  }
}

// Asks about all that was touched; false where nothing was.
bool Controller::ask(EngineSeat& seat) {
  const std::set<std::string> touched = seat.take_touched();
  for (const std::string& subject : touched) {
    EngineSeat::Turn turn = seat.decide(subject, now());
    for (Event& record : turn.records) absorb(std::move(record));
    for (Command& command : turn.commands) {
      if (ledger_.knows(command.key)) continue;
      absorb(Ledger::intent(command));
      to_start_.push_back(std::move(command));
    }
    if (auto old = wakes_.find(subject); old != wakes_.end()) {
      loop_.cancel(old->second);
      wakes_.erase(old);
    }
    if (turn.wake_at != kNever)
      wakes_[subject] = loop_.at(turn.wake_at, [this, subject, seat = &seat] {
        wakes_.erase(subject);
        seat->touch(subject);
        schedule_round();
      });
  }
  return !touched.empty();
}

bool Controller::commit() {
  if (batch_.empty()) return true;
  if (auto kept = journal_.append(batch_); !kept) {
    if (!stuck_) {
      // Acting stops here: whoever waits is told, and the round is tried again until a write succeeds.
      for (auto& answer : to_answer_) answer(fail(kept.error()));
      to_answer_.clear();
    }
    stuck_ = true;
    health_.journal = fail(kept.error());
    loop_.at(loop_.now() + kFullDiskRetry, [this] {
      if (!commit()) return;
      stuck_ = false;
      health_.journal = {};
      after_commit();
      schedule_round();
    });
    return false;
  }
  return true;
}

void Controller::after_commit() {
  const std::vector<Event> kept = std::exchange(batch_, {});
  const std::vector<Command> start = std::exchange(to_start_, {});
  const auto answers = std::exchange(to_answer_, {});
  health_.events += kept.size();
  for (const Command& command : start) run_command(command, false);
  for (const auto& answer : answers) answer({});
  for (const Event& event : kept)
    for (const auto& listener : listeners_) listener(event);
  plan_refresh();
}

void Controller::run_command(const Command& command, bool again) {
  effects_.start(command, again, [this, command](Result<Json> result) {
    std::vector<Event> events;
    events.push_back(result ? Ledger::done(command, std::move(*result))
                            : Ledger::failed(command, result.error()));
    // Unlike what take() turns away, the result of an effect must outlast a full disk: it waits in the inbox.
    inbox_.emplace_back(std::move(events), nullptr);
    schedule_round();
  });
}

// --- looking at Slurm (decisions.md 20)

// With no case, no node out and nobody asking, Slurm is left alone.
bool Controller::wants_refresh() const {
  return !node_waiters_.empty() || !complete_ || !identify::watched(state()).empty() ||
         drain::wants_nodes(drains());
}

void Controller::plan_refresh() {
  if (!started_ || refreshing_ || !wants_refresh()) return;
  TimePoint due = loop_.now();
  if (node_waiters_.empty() && last_refresh_ != kNoTime) {
    // Nodes that are out are looked at so that somebody else's hand on them is noticed: there is no hurry.
    const bool jobs = !complete_ || !identify::watched(state()).empty();
    const Micros floor =
        jobs ? Micros(config_.refresh_floor) : std::max<Micros>(config_.refresh_floor, kNodesFloor);
    due = last_refresh_ + std::max<Micros>(floor, 20 * refresh_cost_);
  }
  if (refresh_planned_) {
    if (due >= refresh_due_) return;
    loop_.cancel(refresh_timer_);
  }
  refresh_planned_ = true;
  refresh_due_ = due;
  refresh_timer_ = loop_.at(due, [this] {
    refresh_planned_ = false;
    refresh();
  });
}

void Controller::with_nodes(std::chrono::seconds max_age, std::function<void(Status)> then) {
  if (complete_ && loop_.now() - last_refresh_ <= max_age) return then({});
  node_waiters_.emplace_back(loop_.now(), std::move(then));
  plan_refresh();
}

void Controller::refresh() {
  if (refreshing_ || (stuck_ && node_waiters_.empty())) return;
  if (!wants_refresh()) return;
  refreshing_ = true;
  RefreshOrder order;
  for (const auto& job : identify::watched(state())) order.jobs.push_back(job.job_id);
  const TimePoint began = loop_.now();
  manager_.refresh(std::move(order), [this, began](Result<Snapshot> snapshot) {
    refreshing_ = false;
    last_refresh_ = loop_.now();
    // A slurmctld that is away costs seconds to find out, and nothing to it: only answers stretch the pauses.
    if (snapshot) refresh_cost_ = std::chrono::duration_cast<Micros>(last_refresh_ - began);
    ++health_.refreshes;
    if (health_.slurm.has_value() != snapshot.has_value() || health_.slurm_since == kNoTime)
      health_.slurm_since = last_refresh_;
    if (snapshot) {
      health_.slurm = {};
      take_snapshot(std::move(*snapshot));
    } else {
      health_.slurm = fail(snapshot.error());
    }
    for (auto& [since, then] : std::exchange(node_waiters_, {})) then(health_.slurm);
    plan_refresh();
  });
}

std::vector<Event> Controller::node_events(const Snapshot& snapshot) {
  // One event for all nodes that look alike now, and only for what an engine needs to know.
  struct Group {
    Json body;
    std::vector<std::string> names;
  };
  std::map<std::string, Group> groups;
  for (const NodeInfo& node : snapshot.nodes) {
    nodes_[node.name] = node;
    const auto parsed = parse_node_state(node.state, node.flags);
    const bool can_work = parsed && usable(*parsed);
    const bool down = parsed && parsed->base == NodeBase::down;
    const bool idle = parsed && is_idle(*parsed), drained = parsed && parsed->has(NodeFlag::drain);
    if (auto known = state().nodes.find(node.name);
        known != state().nodes.end() && known->second.usable == can_work && known->second.down == down &&
        known->second.partitions == node.partitions && !known->second.state.empty() &&
        !drain::is_news(drains(), node.name, drained, idle, node.boot_time))
      continue;
    Json group = Json::object({{"state", node_state_text(node)},
                               {"usable", can_work},
                               {"down", down},
                               {"partitions", node.partitions}});
    if (drains().away.contains(node.name)) {  // (else nodes that look alike would not be one group)
      group.set("boot", to_micros(node.boot_time));
      group.set("idle", idle);
    }
    auto& [body, names] = groups[group.dump()];
    body = std::move(group);
    names.push_back(node.name);
  }
  Json list = Json::array();
  for (auto& [text, group] : groups) {
    Json whole = Json::object({{"nodes", compress_hostlist(group.names)}});
    for (const auto& [key, value] : group.body.members()) whole.set(key, value);
    list.push(std::move(whole));
  }
  if (!snapshot.gone_nodes.empty()) {
    for (const std::string& name : snapshot.gone_nodes) nodes_.erase(name);
    list.push(Json::object({{"nodes", compress_hostlist(snapshot.gone_nodes)}, {"gone", true}}));
  }
  if (list.size() == 0) return {};
  Event event;
  event.subject = "cluster";
  event.kind = identify::kNodesSeen;
  event.body = Json::object({{"groups", std::move(list)}});
  return {std::move(event)};
}

void Controller::take_snapshot(Snapshot snapshot) {
  std::vector<Event> events;
  if (snapshot.controller_boot != kNoTime && snapshot.controller_boot != state().controller_boot) {
    Event event;
    event.subject = "cluster";
    event.kind = identify::kControllerSeen;
    event.body = Json::object({{"boot", to_micros(snapshot.controller_boot)}});
    events.push_back(std::move(event));
  }
  for (Event& event : node_events(snapshot)) events.push_back(std::move(event));

  std::map<JobId, const JobInfo*> found;
  for (const JobInfo& job : snapshot.jobs) found[job.job_id] = &job;
  std::vector<JobId> missing;
  for (const identify::Watched& w : identify::watched(state())) {
    const identify::Run* run = identify::find_run(state().cases.at(w.case_no), w.run);
    const auto it = found.find(w.job_id);
    // Job ids come again: without our key, or with another owner, it is somebody else's job.
    const bool stranger =
        it != found.end() &&
        (it->second->uid != w.uid ||
         (!w.key.empty() && it->second->comment.find("sickbay:" + w.key) == std::string::npos));
    if (it == found.end() || stranger) {
      missing.push_back(w.job_id);
      continue;
    }
    absent_looks_.erase(w.job_id);
    if (!tells_something_new(run->job, *it->second) && run->seen_at != kNoTime) continue;
    Event event;
    event.subject = case_name(w.case_no);
    event.kind = identify::kJobSeen;
    event.body = Json::object({{"run", w.run.text()}, {"job", it->second->to_json()}});
    events.push_back(std::move(event));
  }
  const bool first = !complete_;
  complete_ = true;
  if (!missing.empty()) ask_history(std::move(missing));
  take(std::move(events));
  if (first)
    for (const Command& command : ledger_.unfinished()) run_command(command, true);
}

void Controller::ask_history(std::vector<JobId> jobs) {
  manager_.history(jobs, [this, jobs](Result<std::vector<JobInfo>> past) {
    if (!past) return;  // accounting is away: the next refresh asks again
    std::vector<Event> events;
    for (const identify::Watched& w : identify::watched(state())) {
      if (std::find(jobs.begin(), jobs.end(), w.job_id) == jobs.end()) continue;
      const identify::Run* run = identify::find_run(state().cases.at(w.case_no), w.run);
      const JobInfo* ours = nullptr;
      for (const JobInfo& job : *past) {
        if (job.job_id != w.job_id || job.uid != w.uid) continue;
        if (!w.key.empty() && job.comment.find("sickbay:" + w.key) == std::string::npos) continue;
        // Without a key the submit time tells the job from a later one with the same id.
        if (w.key.empty() && run->job.submit != kNoTime && job.submit < run->job.submit) continue;
        const auto state = parse_job_state(job.state);
        if (state && is_terminal(*state)) ours = &job;
      }
      Event event;
      event.subject = case_name(w.case_no);
      if (ours != nullptr) {
        JobInfo job = *ours;
        job.std_out = run->job.std_out;  // accounting does not keep them
        job.std_err = run->job.std_err;
        if (job.nodes.empty()) job.nodes = run->job.nodes;
        event.kind = identify::kJobSeen;
        event.body = Json::object({{"run", w.run.text()}, {"job", job.to_json()}});
      } else if (++absent_looks_[w.job_id] >= kLooksBeforeLost) {
        event.kind = identify::kJobLost;
        event.body = Json::object({{"run", w.run.text()}, {"job_id", w.job_id}});
      } else {
        continue;
      }
      absent_looks_.erase(w.job_id);
      events.push_back(std::move(event));
    }
    if (!events.empty()) take(std::move(events));
  });
}

}  // namespace sickbay
