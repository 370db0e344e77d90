// SPDX-License-Identifier: Apache-2.0
// TaskIds: a set of task ids of a job array, and Slurm's text for it, both ways: "0-5,7", "0-15:4", "1-19%4".
//
// Kept as ranges, since an array may have a million tasks and most of them share their fate.  What stands
// behind '%' (how many run at once) is read over: it says nothing of which tasks there are.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay {

using TaskId = std::uint32_t;

/// MaxArraySize is at most 4,000,001 (slurm.conf), and no task id is as high.
inline constexpr TaskId kMostTaskId = 4'000'000;

class TaskIds {
 public:
  /// Reads what `sbatch --array` takes and what scontrol, squeue and sacct print, brackets around it
  /// included. Errors: bad_input (no such text, a range that runs backwards, more ids than Slurm can have).
  static Result<TaskIds> parse(std::string_view text);

  void add(TaskId id) { add(id, id); }
  void add(const TaskIds& others);
  void remove(const TaskIds& others);
  bool contains(TaskId id) const;
  bool empty() const { return ranges_.empty(); }
  std::size_t size() const;
  /// The lowest; `*this` is not empty.
  TaskId first() const { return ranges_.front().first; }
  std::vector<TaskId> list() const;
  /// "0-5,7"; equal sets have equal texts, and parse() of it gives the set again.
  std::string text() const;

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(ranges_);
  }

  friend TaskIds without(TaskIds set, const TaskIds& others) {
    set.remove(others);
    return set;
  }
  friend bool operator==(const TaskIds&, const TaskIds&) = default;

 private:
  void add(TaskId from, TaskId to);

  std::vector<std::pair<TaskId, TaskId>> ranges_;  ///< both ends included; sorted, and none touches the next
};

}  // namespace sickbay
