// SPDX-License-Identifier: Apache-2.0
// Why does this job wait, and what would let it run: one answer from slurmctld's facts of one moment.
//
// Slurm's own reason is believed: it decides what may be said.  Where that reason is about nodes, the facts
// say which nodes and why; where it is not, its row of model/pending_reason.h is the answer.  What Slurm does
// not say (it gives one reason where there may be three) is added where it holds for certain.
// No state, no clock: other than the engines beside it, this one remembers nothing.
// Times in texts are format_time()'s, in UTC; whoever shows them turns them into the reader's zone.
#pragma once
#include <string>
#include <vector>

#include "model/pending_facts.h"
#include "model/pending_reason.h"

namespace sickbay::pending {

/// One thing that keeps a job from running.
struct Hindrance {
  std::string code;    ///< of the rule that saw it: "busy", "reservation_ahead", "slurm_reason"
  std::string text;    ///< what follows on "Job 17 waits: ", without a full stop
  std::string remedy;  ///< what would let it run
  PendingCure cure = PendingCure::time;
  bool lasting = false;  ///< it stays until somebody changes the job or the cluster
  friend bool operator==(const Hindrance&, const Hindrance&) = default;
};

struct Explanation {
  std::string sentence;               ///< whole
  bool lasting = false;               ///< the job does not start as it is
  std::vector<Hindrance> hindrances;  ///< the weightiest first; never empty

  Json to_json() const;
};

/// Explains a pending job.  Pure; O(groups of nodes, names of required ones).
Explanation explain(const PendingFacts& facts, TimePoint now);

}  // namespace sickbay::pending
