// SPDX-License-Identifier: Apache-2.0
// What a window of a list of failures shows: hours instead of stamps, bursts marked, sums taken.
// The fit begins with it, and a prediction is held against it.
#pragma once
#include <vector>

#include "plan/failure_list.h"

namespace sickbay::plan {

struct SeenFailure {
  std::uint32_t node = 0;
  double start = 0, length = 0;  ///< hours; the length is what of it lies in the window
  bool length_known = false;     ///< it ended in the window
  bool cut_off = false;          ///< it had not ended at the window's end
  bool in_burst = false, first_of_burst = false;
};

struct Seen {
  double span = 0;
  std::vector<SeenFailure> failures;        ///< by start
  std::vector<std::vector<double>> bursts;  ///< repair times of each
  double pairs = 0, pairs_by_chance = 0;
  double down_h = 0;
  std::size_t most_down = 0;
};

/// The failures that start in [from, until).
Seen seen_of(const System& system, TimePoint from, TimePoint until);

}  // namespace sickbay::plan
