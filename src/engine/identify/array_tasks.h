// SPDX-License-Identifier: Apache-2.0
// What a case knows of a job array: plain values.
//
// The case of the array has no run of its own.  Of tasks that end well only the ids are kept, as ranges; each
// task that fails has a row, and a few of these have a case of their own (array.h).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/ids.h"

namespace sickbay::identify {

/// A task that failed, as the journal has it.
struct TaskFailure {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  TaskId task = 0;
  JobId job_id = 0;  ///< its own
  std::string state;
  int exit_code = 0, exit_signal = 0;
  std::vector<std::string> nodes;
  std::int64_t case_no = 0;  ///< of its own case; 0: none

  /// Slurm shows the same end for both.
  bool like(const TaskFailure& other) const {
    return state == other.state && exit_code == other.exit_code && exit_signal == other.exit_signal;
  }
};

struct TaskArray {
  static constexpr int kFields = 8;      ///< base/state_archive.h
  std::string expression;                ///< as the user wrote it: "0-19%4"
  JobId job_id = 0;                      ///< 0: not bound yet
  TaskIds tasks;                         ///< all; empty: Slurm has not been looked at yet
  TaskIds left;                          ///< that have not ended
  std::uint32_t running = 0;             ///< as last told
  std::map<std::string, TaskIds> ended;  ///< without a failure, by Slurm's word: "COMPLETED", "CANCELLED"
  TaskIds lost;                          ///< neither slurmctld nor accounting knows them
  std::map<TaskId, TaskFailure> failures;

  bool is_seen() const { return !tasks.empty() || !lost.empty(); }
  bool all_ended() const { return is_seen() && left.empty(); }
};

}  // namespace sickbay::identify
