// SPDX-License-Identifier: Apache-2.0
// The queue: which job starts when, where, and why it waits.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"

namespace sickbay::sim {
namespace {

constexpr Micros kSchedulerTick{100'000};

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
  return !node.down && !node.drain && !node.fail && !node.not_responding && node.job == 0;
}

void SimCluster::schedule_soon() {
  const bool nothing_waits = queue_.empty() && dependent_.empty() && loop_.now() >= strangers_until_;
  if (schedule_posted_ || nothing_waits) return;
  // All changes of one moment make one pass.
  schedule_posted_ = true;
  loop_.at(loop_.now() + kSchedulerTick, [this] {
    schedule_posted_ = false;
    schedule_now();
  });
}

void SimCluster::schedule_now() {
  if (!away_) schedule();
}

std::vector<JobId> SimCluster::queue_in_order() const {
  // By number: first in, first out.
  std::vector<JobId> order(queue_.begin(), queue_.end());
  if (priorities_)
    std::stable_sort(order.begin(), order.end(),
                     [this](JobId a, JobId b) { return jobs_.at(a)->priority > jobs_.at(b)->priority; });
  return order;
}

void SimCluster::schedule() {
  look_at_dependencies();
  bool first = true, strangers = loop_.now() < strangers_until_;
  for (const JobId job_id : queue_in_order()) {
    Job& job = *jobs_.at(job_id);
    // Strangers were there before: jobs of their priority (0) come behind them, better ones before.
    if (strangers && job.priority <= 0) {
      schedule_strangers();
      strangers = false;
    }
    // Excluded too much while it was held: Slurm looks at that when it is released.
    if (!job.possible) {
      job.info.held = true;
      job.info.reason = "BadConstraints";
      queue_.erase(job_id);
    } else if (dependent_.count(job_id)) {
      continue;
    } else if (job.eligible > loop_.now()) {
      job.info.reason = "BeginTime";
    } else if (throttled(job)) {
      job.info.reason = "JobArrayTaskLimit";
    } else if (!start_tasks(job)) {
      // As Slurm says it: Resources for the first that waits for nodes, Priority for those behind it.
      job.info.reason =
          throttled(job) ? "JobArrayTaskLimit" : pending_reason(job, std::exchange(first, false));
    }
  }
  if (strangers) schedule_strangers();
}

/// Starts the job, of an array as many tasks as there is room for.  False while some of it waits.
bool SimCluster::start_tasks(Job& job) {
  while (!throttled(job) && allocate(job)) {
    const auto waiting = TaskIds::parse(job.info.array_task_id);
    if (!waiting || waiting->size() <= 1) {
      queue_.erase(job.info.job_id);
      start(job);
      return true;
    }
    // The other tasks keep the array's number and its place in the queue; the last one takes both over.
    Job& task = split(job, waiting->first());
    task.on = std::exchange(job.on, {});
    start(task);
  }
  return false;
}

/// Whether the node is one that the job could ever have.
bool SimCluster::fits(const Job& job, NodeIndex node) const {
  return !std::binary_search(job.exclude.begin(), job.exclude.end(), node) &&
         (job.constraint.empty() || meets_constraint(job.constraint, nodes_[node].features).value_or(false));
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
    if (!idle.count(node) || reserved_for_others(node, job)) return false;
  for (auto node = idle.begin(); node != idle.end() && chosen.size() < job.info.num_nodes; ++node)
    if (fits(job, *node) && !reserved_for_others(*node, job) &&
        !std::binary_search(job.only.begin(), job.only.end(), *node))
      chosen.push_back(*node);
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
    if (nodes_[node].down || nodes_[node].drain || nodes_[node].not_responding ||
        reserved_for_others(node, job))
      return "ReqNodeNotAvail";
  if (!reservations_.empty()) {
    const auto& members = partition_nodes_[job.partition];
    const auto left = std::count_if(members.begin(), members.end(), [&](NodeIndex node) {
      return fits(job, node) && !reserved_for_others(node, job);
    });
    if (static_cast<std::size_t>(left) < job.info.num_nodes) return "ReqNodeNotAvail";
  }
  return first ? "Resources" : "Priority";
}

void SimCluster::start(Job& job) {
  if (job.is_array()) name_outputs(job);
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
  // Some may wait for its start (`after`).
  if (!dependent_.empty()) schedule_soon();
  if (job.info.time_limit_s > 0)
    job.limit_timer = loop_.at(loop_.now() + std::chrono::seconds(job.info.time_limit_s),
                               [this, job_id = job.info.job_id] { time_is_up(*jobs_.at(job_id)); });
  tell(job);
}

void SimCluster::time_is_up(Job& job) {
  log_end(job, " DUE TO TIME LIMIT");
  end(job, {.state = "TIMEOUT", .reason = "TimeLimit"});
}

}  // namespace sickbay::sim
