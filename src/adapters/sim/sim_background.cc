// SPDX-License-Identifier: Apache-2.0
// The jobs of other people: a load that comes and goes, or a cluster that is full for hours.
//
// Full: every idle node gets a stranger's job, and so does each that comes free until the strangers' queue is
// empty.  They were there before: only jobs with a priority over theirs (0) go first.  Nodes that such a job
// waits for are kept for it, as Slurm's backfill keeps them.
#include <algorithm>
#include <cmath>
#include <set>

#include "adapters/sim/sim_state.h"

namespace sickbay::sim {

void SimCluster::add_background(const SimBackground& load) {
  SB_CHECK(!background_, "one background load per cluster");
  SB_CHECK(load.busy_nodes <= nodes_.size() && load.nodes_per_job > 0, "a background load fits its cluster");
  background_ = std::make_unique<Background>();
  background_->load = load;
  auto end = static_cast<NodeIndex>(nodes_.size());
  const auto floor = static_cast<NodeIndex>(nodes_.size() - load.busy_nodes);
  while (end >= floor + load.nodes_per_job) {
    end -= load.nodes_per_job;
    background_->runs.push({.at = loop_.now(), .first = end, .count = load.nodes_per_job, .job = 0});
  }
  background_step();
}

void SimCluster::background_step() {
  Background& others = *background_;
  while (!others.runs.empty() && others.runs.top().at <= loop_.now()) {
    auto run = others.runs.top();
    others.runs.pop();
    const bool starts = run.job == 0;
    if (starts) run.job = others.next_id++;
    for (NodeIndex node = run.first; node < run.first + run.count; ++node) {
      // What is ill or taken is left out of this run; at its end, only what is still its own is freed.
      if (starts ? !may_start_on(node) : nodes_[node].job != run.job) continue;
      nodes_[node].job = starts ? run.job : 0;
      node_changed(node);
    }
    // Exponential run times, and a pause of some seconds for the nodes between two jobs.
    // In (0, 1]: 0 has no logarithm.
    const double share = static_cast<double>((random_() >> 11) + 1) * 0x1p-53;
    const double seconds =
        starts ? -std::log(share) * static_cast<double>(others.load.mean_run.count()) + 1 : 1 + 9 * share;
    if (!starts) run.job = 0;
    run.at = loop_.now() + Micros(static_cast<std::int64_t>(seconds * 1e6));
    others.runs.push(run);
  }
  if (!others.runs.empty()) loop_.at(others.runs.top().at, [this] { background_step(); });
  schedule_soon();
}

// --- a full cluster ------------------------------------------------------------------------------------

void SimCluster::fill_with_strangers(std::chrono::seconds queue_lasts, std::chrono::seconds run) {
  SB_CHECK(run.count() > 0, "a stranger's job takes some time");
  strangers_until_ = loop_.now() + queue_lasts;
  stranger_run_ = run;
  // From then on jobs of the strangers' priority get their turn.
  loop_.at(strangers_until_, [this] { schedule_soon(); });
  schedule_strangers();
}

/// Takes what is idle, but for what better jobs wait for.
void SimCluster::schedule_strangers() {
  if (loop_.now() >= strangers_until_) return;
  std::set<NodeIndex> kept;
  for (const JobId job_id : queue_)
    if (const Job& job = *jobs_.at(job_id); job.priority > 0 && !dependent_.count(job_id)) {
      if (!job.only.empty()) kept.insert(job.only.begin(), job.only.end());
      for (const NodeIndex node : partition_nodes_[job.partition]) {
        if (job.only.size() >= job.info.num_nodes || kept.size() >= job.info.num_nodes) break;
        if (fits(job, node) && may_start_on(node)) kept.insert(node);
      }
    }
  for (NodeIndex node = 0; node < nodes_.size(); ++node) {
    if (!may_start_on(node) || kept.count(node) ||
        reservation_of(node, loop_.now(), loop_.now() + stranger_run_))
      continue;
    const JobId job_id = next_stranger_++;
    nodes_[node].job = job_id;
    node_changed(node);
    // Their ends are spread over the time of one run, always alike.
    const auto seventh = (node * 3 + 1) % 7 + 1;
    const Micros takes = stranger_run_ * (strangers_began_.insert(node).second ? seventh : 7) / 7;
    loop_.at(loop_.now() + takes, [this, node, job_id] {
      // The node was lost meanwhile (mark_down), and may have another's job.
      if (nodes_[node].job != job_id) return;
      nodes_[node].job = 0;
      node_changed(node);
      schedule_now();
    });
  }
}

}  // namespace sickbay::sim
