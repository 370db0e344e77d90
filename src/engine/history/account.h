// SPDX-License-Identifier: Apache-2.0
// What failures cost a job, and what its checkpoints saved.
//
// A job that fails at t_f and goes on from a checkpoint of t_c computes t_f - t_c once more, in place of
// t_f - t_start; t_c - t_start is saved (the paper, 5.2 and Figure 6).  A run that itself went on from a
// checkpoint has the progress of that one behind it, which a failure without checkpoints would lose, too.
#pragma once
#include <vector>

#include "engine/history/history.h"

namespace sickbay::history {

struct Failure {
  OpRef op;
  std::uint32_t restart = 0;
  std::string state;       ///< how it ended; "REQUEUED" where Slurm began it anew at once
  TimePoint at = kNoTime;  ///< t_f
  Micros ran{0};           ///< since the start of the run
  int checkpoint = 0;      ///< that it goes on from; 0: from the beginning
  bool gone_on = false;    ///< it has; else it would go on from the last checkpoint
  Micros recomputed{0};    ///< t_f - t_c
  Micros without{0};       ///< what it would be without checkpoints
  Micros saved() const { return without - recomputed; }
};

struct Account {
  std::vector<Failure> failures;
  int checkpoints = 0;
  Micros checkpointing{0};  ///< what they took
  Micros recomputed() const;
  Micros saved() const;
  Json to_json() const;
};

/// Of one job's part; replays are jobs of their own, with their own accounts.
Account account_of(const State& state, const Part& part);

}  // namespace sickbay::history
