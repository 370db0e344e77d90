// SPDX-License-Identifier: Apache-2.0
// Did a job that completed take much longer than the same job did before?
//
// A node that is half as fast fails nobody whose time limit is wide, so no verdict comes of it: it is a hint
// to whoever asks.  Compared are good runs of the same script, arguments, options, inputs and number of
// nodes, of one user, as far as their cases are still known.
#pragma once
#include <chrono>
#include <optional>

#include "engine/identify/identify.h"

namespace sickbay::identify {

struct UsualTime {
  std::chrono::seconds took, median, longest;  ///< of this job; of the runs before
  int runs = 0;
};
/// Nothing where it took no longer than usual, or too few runs are known to say what is usual.  O(cases).
std::optional<UsualTime> slower_than_usual(const State& state, const Case& subject);

/// Says so in a verdict that the job completed.
void add_usual_time(const State& state, const Case& subject, Verdict& verdict);

}  // namespace sickbay::identify
