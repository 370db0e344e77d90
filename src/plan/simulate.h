// SPDX-License-Identifier: Apache-2.0
// One possible year of a cluster, as a model of its failures has it: a discrete-event simulation.
//
// Nodes fail and are repaired; every node that is not a spare has work.  A failed node of a job is replaced
// by a spare or, where none is left, by the next node that is repaired; the job waits until then.  A repaired
// node becomes a spare, or goes to who waits.  What is simulated is the state of the nodes and, job by job,
// its clock; work between two failures is computed and not stepped through, so a year of 10,000 nodes is
// some ten thousand events.  A replication draws its rates and repair times, too, from what the list leaves
// open: the scatter of replications is that of the answer.  Source: doc/design/plan.md.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/fit.h"

namespace sickbay::plan {

struct Job {
  std::size_t nodes = 1;
  double hours = 24;      ///< of work
  double interval_h = 1;  ///< of work between two checkpoints
  double cost_h = 0;      ///< of a checkpoint
  double restart_h = 0;   ///< from a failure that is mended to work again
  bool replaced = true;   ///< the running job gets another node; else it is queued again
  double requeue_h = 0;   ///< then it waits so long
};

/// How a failed node comes back: a reboot cures it, or it is repaired as the list says.
struct Repairs {
  double factor = 1;        ///< on the repair times of the list
  double reboot_cures = 0;  ///< this share of failures is over after
  double reboot_h = 0;      ///< so long
};

struct Setting {
  std::size_t nodes = 1;  ///< all, spares among them
  std::size_t spares = 0;
  double hours = 8766;  ///< simulated, after the begin
  double warm_h =
      -1;  ///< time before that; below 0: what the repair times need; 0: all nodes are up at first
  bool never_wait = false;  ///< jobs go on as if there always were a spare (for asking how many are needed)
  bool draw_rates = true;   ///< each replication its own; else the model's best
  Repairs repairs;
  Job job;
};

/// What one replication came to.
struct Outcome {
  std::size_t failures = 0, events = 0;
  double node_hours = 0;  ///< nodes times hours
  double down_h = 0;      ///< node-hours
  std::size_t most_down = 0;
  std::size_t hits = 0;                     ///< failures that hit a job (all that are no idle spare's)
  std::vector<std::uint32_t> hits_by_down;  ///< of them: by how many nodes were down then, itself included
  std::size_t jobs = 0;                     ///< that came to their end
  std::vector<std::uint32_t>
      jobs_by_down;       ///< by the most nodes that were down when one of theirs failed; 0: none failed
  double job_time_h = 0;  ///< elapsed, of jobs times hours
  double useful_h = 0, lost_h = 0, checkpoint_h = 0, restart_h = 0, waiting_h = 0;  ///< of that
  std::vector<float> times_h;  ///< of the jobs that ended: from start to end

  double availability() const { return 1 - down_h / node_hours; }
  double efficiency() const { return job_time_h > 0 ? useful_h / job_time_h : 0; }
  /// The share of jobs that never wait, with so many spares.
  double never_waits(std::size_t spares) const;
  /// The share of failures that find a spare.
  double finds_spare(std::size_t spares) const;
};

/// The replication `number` of a seed.  Two settings that differ in the job alone, or in the spares, see the
/// same failures.
Outcome simulate(const Model& model, const Setting& setting, std::uint64_t seed, std::uint64_t number);

/// A model of nodes that fail and are repaired without memory, known for sure: for checks against formulas.
Model memoryless(std::size_t nodes, double mean_up_h, double mean_repair_h);

}  // namespace sickbay::plan
