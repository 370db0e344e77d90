// SPDX-License-Identifier: Apache-2.0
// slurmctld goes and comes back, and what it then no longer knows.
#include <algorithm>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

void SimCluster::stop_controller(bool killed, bool runs_stay) {
  SB_CHECK(!away_, "slurmctld is down already");
  if (killed) forget_unsaved(runs_stay);
  away_ = true;
}

void SimCluster::start_controller() {
  away_ = false;
  // Stamps are whole seconds; two starts within one must differ, since callers know a restart by the stamp.
  controller_boot_ = std::max(stamp(loop_.now()), controller_boot_ + std::chrono::seconds(1));
  schedule_soon();
}

void SimCluster::restart_controller(bool killed, std::chrono::milliseconds down_for, bool runs_stay) {
  stop_controller(killed, runs_stay);
  loop_.at(loop_.now() + down_for, [this] { start_controller(); });
}

/// State files are written every save_interval from the start on.  Simplified: what ended stays ended, and of
/// nodes only a drain is forgotten.
void SimCluster::forget_unsaved(bool runs_stay) {
  const Micros since_boot = loop_.now() - controller_boot_;
  // (The division drops what is less than an interval.)
  const TimePoint saved = controller_boot_ + since_boot / options_.save_interval * options_.save_interval;
  for (auto entry = jobs_.begin(); entry != jobs_.end();) {
    Job& job = *entry->second;
    const bool forgotten = job.submitted > saved && !job.ended();
    const bool unreleased = !job.info.held && job.released > saved && !job.ended();
    // In the saved state it waits still.
    if (forgotten || unreleased || (job.running() && job.started > saved)) {
      // slurmd ends a run that its slurmctld does not know of.
      if (runs_stay)
        for (const NodeIndex node : job.on) nodes_[node].runs_still = entry->first;
      if (job.running()) leave_nodes(job);
      job.info.state = "PENDING";
      job.info.start = job.info.end = kNoTime;
      job.info.nodes.clear();
      queue_.insert(entry->first);
    }
    if (forgotten || unreleased) queue_.erase(entry->first);
    if (unreleased && !forgotten) {
      job.info.held = true;
      job.info.reason = "JobHeldUser";
      job.released = kNoTime;
    }
    if (!forgotten) {
      ++entry;
      continue;
    }
    // The next submission gets the number again, as from the real one.
    next_id_ = std::min(next_id_, entry->first);
    if (const auto ids = by_key_.find(job.key); ids != by_key_.end()) {
      ids->second.erase(entry->first);
      if (ids->second.empty()) by_key_.erase(ids);
    }
    entry = jobs_.erase(entry);
  }
  for (NodeIndex index = 0; index < nodes_.size(); ++index) {
    Node& node = nodes_[index];
    if (!node.drain || node.drained_at == kNoTime || node.drained_at <= saved) continue;
    node.drain = false;
    if (!node.down) node.reason.clear();
    node_changed(index);
  }
}

}  // namespace sickbay::sim
