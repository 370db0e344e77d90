// SPDX-License-Identifier: Apache-2.0
// A job's way out: an end with COMPLETING, the end, gone; or back to the queue.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

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
  // No node is to be cleaned up: no COMPLETING.
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
    // It was lost on the way (take_node, mark_down), and may have another's job.
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
  queue_again(job);
}

void SimCluster::queue_again(Job& job) {
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

/// Tried on 22.05: the node is drained, and the job goes back to the queue and is held for good.  One that
/// may not go back is cancelled, as if somebody had done that; but not where a run that slurmctld has
/// forgotten is in its way.
void SimCluster::fail_launch(Job& job) {
  set_drain(nodes_[job.on.front()].name, job.ending.refusal);
  if (!job.may_requeue && !job.ending.is_there) return end(job, {.state = "CANCELLED", .began = false});
  put_back(job, "REQUEUED");
  job.info.held = true;
  job.info.reason = kLaunchFailedHeld;
  // put_back has put it there; a held job is not in the queue.
  queue_.erase(job.info.job_id);
  tell(job);
}

void SimCluster::account(const Job& job, const std::string& state) {
  JobInfo info = job.info;
  info.state = state;
  info.flags.clear();
  // sacct keeps no comment, but the submit line holds the key.
  info.comment = job.key.empty() ? "" : "sickbay:" + job.key;
  std::vector<Record>& runs = accounted_[info.job_id];  // (before `info` is moved out)
  runs.push_back({std::move(info), job.key});
  if (!job.key.empty()) accounted_by_key_[job.key].insert(job.info.job_id);
}

void SimCluster::purge(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end()) return;
  // One that was requeued after its end is kept, and so is its next end.
  if (!found->second->ended() || loop_.now() < found->second->info.end + options_.min_job_age) return;
  if (const auto ids = by_key_.find(found->second->key); ids != by_key_.end()) {
    ids->second.erase(job_id);
    if (ids->second.empty()) by_key_.erase(ids);
  }
  jobs_.erase(found);
}

bool SimCluster::end_by_hand(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || found->second->ended()) return false;
  Job& job = *found->second;
  if (job.running()) log_end(job, "");
  end(job, {.state = "CANCELLED", .exit_signal = job.running() ? 15 : 0, .reason = "None"});
  return true;
}

bool SimCluster::hold(JobId job_id, bool by_operator) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->pending()) return false;
  Job& job = *found->second;
  job.info.held = true;
  job.info.reason = by_operator ? "JobHeldAdmin" : "JobHeldUser";
  queue_.erase(job_id);
  tell(job);
  return true;
}

bool SimCluster::release_hold(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->pending() || !found->second->info.held) return false;
  Job& job = *found->second;
  job.info.held = false;
  job.info.reason = "None";
  job.released = loop_.now();
  queue_.insert(job_id);
  schedule_soon();
  tell(job);
  return true;
}

bool SimCluster::set_priority(JobId job_id, int priority) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->pending()) return false;
  found->second->priority = priority;
  priorities_ = true;
  schedule_soon();
  return true;
}

bool SimCluster::requeue(JobId job_id) {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || !found->second->running()) return false;
  // Tried on 22.05: not by its own script, nor by an operator.
  if (!found->second->may_requeue) return false;
  log_end(*found->second, " DUE TO JOB REQUEUE");
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
