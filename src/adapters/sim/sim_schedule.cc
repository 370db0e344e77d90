// SPDX-License-Identifier: Apache-2.0
// The queue, and a job's way through its states: PENDING, RUNNING, an end with COMPLETING, the end, gone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"

namespace sickbay::sim {
namespace {

constexpr Micros kSchedulerTick{100'000};

TimePoint stamp(TimePoint now) { return from_unix_seconds(to_unix_seconds(now)); }

}  // namespace

void SimCluster::tell(const Job& job) {
  if (on_job) on_job(job.info);
}

void SimCluster::node_changed(NodeIndex index) {
  Node& node = nodes_[index];
  if (!node.changed) {
    node.changed = true;
    changed_nodes_.push_back(index);
  }
  for (const auto p : node.partitions) {
    if (may_start_on(index))
      idle_[p].insert(index);
    else
      idle_[p].erase(index);
  }
  if (on_node) on_node(info_of(index));
}

bool SimCluster::may_start_on(NodeIndex index) const {
  const Node& node = nodes_[index];
  return !node.down && !node.drain && !node.not_responding && node.job == 0;
}

void SimCluster::schedule_soon() {
  if (schedule_posted_ || queue_.empty()) return;
  schedule_posted_ = true;
  loop_.at(loop_.now() + kSchedulerTick, [this] {
    schedule_posted_ = false;
    if (!away_) schedule();
  });
}

void SimCluster::schedule() {
  bool first = true;
  for (auto entry = queue_.begin(); entry != queue_.end();) {
    Job& job = *jobs_.at(*entry);
    if (!job.possible) {
      job.info.held = true;
      job.info.reason = "BadConstraints";
      entry = queue_.erase(entry);
    } else if (job.eligible > loop_.now()) {
      job.info.reason = "BeginTime";
      ++entry;
    } else if (allocate(job)) {
      entry = queue_.erase(entry);
      start(job);
    } else {
      job.info.reason = pending_reason(job, first);
      first = false;
      ++entry;
    }
  }
}

bool SimCluster::allocate(Job& job) {
  const SimPartition& partition = options_.partitions[job.partition];
  if (partition.max_time_s != 0 &&
      (job.info.time_limit_s == 0 || job.info.time_limit_s > partition.max_time_s))
    return false;
  const auto& idle = idle_[job.partition];
  if (idle.size() < job.info.num_nodes) return false;
  std::vector<NodeIndex> chosen = job.only;
  for (const NodeIndex node : chosen)
    if (!idle.count(node)) return false;
  for (auto node = idle.begin(); node != idle.end() && chosen.size() < job.info.num_nodes; ++node) {
    if (std::binary_search(job.exclude.begin(), job.exclude.end(), *node) ||
        std::binary_search(job.only.begin(), job.only.end(), *node))
      continue;
    chosen.push_back(*node);
  }
  if (chosen.size() < job.info.num_nodes) return false;
  std::sort(chosen.begin(), chosen.end());
  job.on = std::move(chosen);
  return true;
}

std::string SimCluster::pending_reason(const Job& job, bool first) const {
  const SimPartition& partition = options_.partitions[job.partition];
  if (partition.max_time_s != 0 &&
      (job.info.time_limit_s == 0 || job.info.time_limit_s > partition.max_time_s))
    return "PartitionTimeLimit";
  for (const NodeIndex node : job.only)
    if (nodes_[node].down || nodes_[node].drain || nodes_[node].not_responding) return "ReqNodeNotAvail";
  return first ? "Resources" : "Priority";
}

void SimCluster::start(Job& job) {
  std::vector<std::string> names;
  for (const NodeIndex node : job.on) {
    nodes_[node].job = job.info.job_id;
    node_changed(node);
    names.push_back(nodes_[node].name);
  }
  job.started = loop_.now();
  job.info.state = "RUNNING";
  job.info.reason = "None";
  job.info.flags.clear();
  job.info.start = stamp(loop_.now());
  job.info.nodes = compress_hostlist(names);
  if (!job.key.empty()) ++starts_[job.key];
  job.out.clear();
  job.err.clear();
  plan(job);
  if (job.info.time_limit_s > 0)
    job.limit_timer = loop_.at(loop_.now() + std::chrono::seconds(job.info.time_limit_s),
                               [this, job_id = job.info.job_id] { time_is_up(*jobs_.at(job_id)); });
  tell(job);
}

void SimCluster::time_is_up(Job& job) {
  log_end(job, " DUE TO TIME LIMIT");
  end(job, {.state = "TIMEOUT", .reason = "TimeLimit"});
}

/// slurmstepd's line for a job that was ended from outside.
void SimCluster::log_end(Job& job, std::string_view why) {
  job.err += fmt::format("slurmstepd: error: *** JOB {} ON {} CANCELLED AT {:.19}{} ***\n", job.info.job_id,
                         nodes_[job.on.front()].name, format_time(loop_.now()), why);
}

void SimCluster::end(Job& job, const Ending& ending) {
  SB_CHECK(!job.ended(), "a job ends once");
  loop_.cancel(job.work_timer);
  loop_.cancel(job.limit_timer);
  const bool ran = job.running();
  queue_.erase(job.info.job_id);
  job.info.state = ending.state;
  job.info.reason = ending.reason;
  job.info.exit_code = ending.exit_code;
  job.info.exit_signal = ending.exit_signal;
  job.info.end = stamp(loop_.now());
  job.info.held = false;
  if (!ran) {
    tell(job);
    finish(job);
    return;
  }
  write_outputs(job);
  job.info.flags = {"COMPLETING"};
  tell(job);
  loop_.at(loop_.now() + options_.completing,
           [this, job_id = job.info.job_id] { finish(*jobs_.at(job_id)); });
}

/// The clean-up is over: nodes are free, accounting has it, and in a while slurmctld forgets it.
void SimCluster::finish(Job& job) {
  leave_nodes(job);
  job.info.flags.clear();
  account(job, job.info.state);
  loop_.at(loop_.now() + options_.min_job_age, [this, job_id = job.info.job_id] { purge(job_id); });
  schedule_soon();
}

void SimCluster::leave_nodes(Job& job) {
  loop_.cancel(job.work_timer);
  loop_.cancel(job.limit_timer);
  for (const NodeIndex node : job.on) {
    if (nodes_[node].job != job.info.job_id) continue;
    nodes_[node].job = 0;
    node_changed(node);
  }
  job.on.clear();
}

/// Back to the queue: another run of the same job.  Accounting keeps the run before under its own state.
void SimCluster::put_back(Job& job, const std::string& old_state) {
  write_outputs(job);
  job.info.end = stamp(loop_.now());
  account(job, old_state);
  leave_nodes(job);
  JobInfo& info = job.info;
  info.state = "PENDING";
  info.flags.clear();
  ++info.restart_cnt;
  // A requeue is a new submission to Slurm: new stamp, no nodes, nothing before begin time.
  info.submit = stamp(loop_.now());
  info.start = info.end = kNoTime;
  info.nodes.clear();
  info.exit_code = info.exit_signal = 0;
  info.reason = "BeginTime";
  job.eligible = loop_.now() + options_.requeue_delay;
  queue_.insert(info.job_id);
  loop_.at(job.eligible, [this] { schedule_soon(); });
  tell(job);
}

void SimCluster::account(const Job& job, const std::string& state) {
  JobInfo info = job.info;
  info.state = state;
  info.flags.clear();
  // sacct keeps no comment, but the submit line holds the key.
  info.comment = job.key.empty() ? "" : "sickbay:" + job.key;
  accounted_[info.job_id].push_back({std::move(info), job.key});
  if (!job.key.empty()) accounted_by_key_[job.key].insert(job.info.job_id);
}

void SimCluster::purge(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end()) return;
  if (const auto ids = by_key_.find(found->second->key); ids != by_key_.end()) {
    ids->second.erase(job_id);
    if (ids->second.empty()) by_key_.erase(ids);
  }
  jobs_.erase(found);
}

bool SimCluster::scancel(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || found->second->ended()) return false;
  Job& job = *found->second;
  if (job.running()) log_end(job, "");
  end(job, {.state = "CANCELLED", .exit_signal = job.running() ? 15 : 0, .reason = "None"});
  return true;
}

bool SimCluster::requeue(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->running()) return false;
  put_back(*found->second, "REQUEUED");
  return true;
}

bool SimCluster::preempt(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->running()) return false;
  Job& job = *found->second;
  log_end(job, " DUE TO PREEMPTION");
  if (job.may_requeue)
    put_back(job, "PREEMPTED");
  else
    end(job, {.state = "PREEMPTED", .reason = "None"});
  return true;
}

}  // namespace sickbay::sim
