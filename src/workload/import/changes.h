// SPDX-License-Identifier: Apache-2.0
// Importing again and again: when a log has grown, or by the clock.
//
// A log that changed is imported as a whole: an import changes nothing that is there already, and a job whose
// rows came hours apart gets its sums from all of them.  So a log that was cut or rotated needs no care.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::workload {

/// Which of some files are not as they were at the last call.
class FileChanges {
 public:
  /// Those of `paths` that are new or have another size, time or inode than remembered.  One that is not
  /// there (between the two steps of a rotation) is not among them.
  std::vector<std::string> changed(const std::vector<std::string>& paths) const;
  /// As they are now: what is written while they are read is seen at the next call of changed().
  void remember(const std::vector<std::string>& paths);
  /// As if they had never been seen.
  void forget(const std::vector<std::string>& paths);

 private:
  struct State {
    std::uint64_t device = 0, inode = 0;
    std::int64_t size = 0, changed_ns = 0;
    bool operator==(const State&) const = default;
  };
  static bool look(const std::string& path, State& state);
  std::map<std::string, State> known_;
};

/// Runs `round` now and whenever `wait` has returned true; until `wait` returns false.  A round that fails is
/// told by `failed`, which says whether to go on.
void watch(const std::function<Status()>& round, const std::function<bool()>& wait,
           const std::function<bool(const Error&)>& failed);

}  // namespace sickbay::workload
