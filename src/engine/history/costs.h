// SPDX-License-Identifier: Apache-2.0
// What failures and checkpoints cost the jobs of a whole journal, those too whose histories sickbayd does not
// keep any more.  Failures that other systems count, this one tells in hours of work (account.h).
#pragma once
#include <vector>

#include "engine/history/account.h"

namespace sickbay::history {

struct CheckpointCost {
  int number = 0;
  std::uint32_t restart = 0;
  TimePoint at = kNoTime;  ///< when it was told
  Micros took{0};
};

struct JobCosts {
  JobId job = 0;
  Account account;
  std::vector<CheckpointCost> checkpoints;
};

/// Of one job's part.
JobCosts costs_of(const State& state, const Part& part);

/// Hears a journal from its begin.
class CostsOfJournal {
 public:
  void hear(const Event& event);
  /// Of all jobs that had a checkpoint or a failure, in the order in which their histories ended; those that
  /// have not ended come last.
  std::vector<JobCosts> costs() const;

 private:
  State state_;
  std::vector<JobCosts> archived_;
};

}  // namespace sickbay::history
