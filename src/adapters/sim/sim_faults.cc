// SPDX-License-Identifier: Apache-2.0
// Nodes that fall ill and get well.
//
// slurmctld learns of a silent node late: half-way to SlurmdTimeout it is NOT_RESPONDING, then DOWN.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

SimCluster::NodeIndex SimCluster::index_of(const std::string& node) const {
  const auto found = node_index_.find(node);
  SB_CHECK(found != node_index_.end(), "no such node in this cluster");
  return found->second;
}

SimCluster::Job* SimCluster::running_on(NodeIndex node) {
  const auto found = jobs_.find(nodes_[node].job);
  return found != jobs_.end() && found->second->running() ? found->second.get() : nullptr;
}

void SimCluster::crash_node(const std::string& name) {
  const NodeIndex node = index_of(name);
  nodes_[node].lost_programs = true;
  silence(node);
}

void SimCluster::cut_node(const std::string& name) { silence(index_of(name)); }

void SimCluster::cut_pair(const std::string& a, const std::string& b) {
  cut_pairs_.insert({index_of(a), index_of(b)});
  cut_pairs_.insert({index_of(b), index_of(a)});
}

void SimCluster::silence(NodeIndex index) {
  Node& node = nodes_[index];
  if (node.silent) return;
  node.silent = true;
  if (Job* job = running_on(index)) set_pace(*job);
  const Micros half = options_.slurmd_timeout / 2;
  node.silence_timer = loop_.at(loop_.now() + half, [this, index, half] {
    nodes_[index].not_responding = true;
    node_changed(index);
    nodes_[index].silence_timer =
        loop_.at(loop_.now() + half, [this, index] { mark_down(index, "Not responding"); });
  });
}

void SimCluster::mark_down(NodeIndex index, const std::string& reason) {
  Node& node = nodes_[index];
  node.down = true;
  if (node.reason.empty()) node.reason = reason;
  lose_job(index);
  // A stranger's job is a number on its node and no Job: it simply goes.
  if (node.job >= kFirstBackgroundId) node.job = 0;
  node_changed(index);
}

/// The job on a node that is lost ends, or goes back to the queue where it may; with --no-kill it goes on.
void SimCluster::lose_job(NodeIndex index) {
  Job* job = running_on(index);
  if (!job) return;
  if (job->no_kill && job->on.front() != index) return take_node(*job, index);
  const std::string& name = nodes_[index].name;
  job->err = fmt::format("srun: error: Node failure on {}\n", name);
  log_end(*job, " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS");
  if (job->may_requeue)
    put_back(*job, "NODE_FAIL");
  else
    end(*job, {.state = "NODE_FAIL", .exit_signal = 1, .reason = "NodeDown"});
}

void SimCluster::set_faults(const std::string& name, const SimNodeFaults& faults) {
  const NodeIndex index = index_of(name);
  nodes_[index].faults = faults;
  Job* job = running_on(index);
  if (!job) return;
  set_pace(*job);
  // The fault strikes what runs there now as well, and not only runs that start later.
  if (faults.kill_signal != 0 && chance(faults.kill_share)) {
    const auto task = std::find(job->on.begin(), job->on.end(), index) - job->on.begin();
    kill_rank(*job, static_cast<std::size_t>(task), faults.kill_signal, 0);
    set_pace(*job);
  }
}

void SimCluster::set_down(const std::string& name, const std::string& reason) {
  // What an operator gives replaces what was there; Slurm itself leaves it (tried on 22.05).
  nodes_[index_of(name)].reason = reason;
  mark_down(index_of(name), reason);
}

void SimCluster::set_drain(const std::string& name, const std::string& reason) {
  const NodeIndex index = index_of(name);
  nodes_[index].drain = true;
  nodes_[index].reason = reason;
  node_changed(index);
}

void SimCluster::heal(const std::string& name) {
  const NodeIndex index = index_of(name);
  Node& node = nodes_[index];
  node.faults = {};
  std::erase_if(cut_pairs_, [&](const auto& pair) { return pair.first == index || pair.second == index; });
  loop_.cancel(node.silence_timer);
  // It was powered off: what ran there is gone, though it may be back before SlurmdTimeout has passed.
  if (node.lost_programs) {
    node.boot = from_unix_seconds(to_unix_seconds(loop_.now()));
    lose_job(index);
  }
  node.runs_still = 0;
  node.silent = node.lost_programs = node.not_responding = node.down = node.drain = node.fail =
      node.reboot_issued = false;
  node.reason.clear();
  if (Job* job = running_on(index)) set_pace(*job);
  node_changed(index);
  schedule_soon();
}

}  // namespace sickbay::sim
