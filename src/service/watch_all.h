// SPDX-License-Identifier: Apache-2.0
// What the jobs of the whole cluster came to, as one event of a look: bounded, and fair to all users.
//
// A user who floods the cluster with failing jobs must not fill the journal, nor take the place of others:
// each has so many words of one look, failures first, and who has less to say is not made to wait.  Our own
// runs are experiments and are left out.  Source: doc/design/blackhole.md, "What is looked at".
#pragma once
#include <optional>
#include <vector>

#include "model/event.h"
#include "model/job.h"

namespace sickbay {

inline constexpr std::size_t kMostOutcomesOfUser = 32;  ///< of one look
inline constexpr std::size_t kMostOutcomes = 1000;

/// `jobs_ended` of these jobs (Snapshot::begun); nothing where none of them has come to anything.  Those that
/// run are told when they have lived for `lives`: kEarly, when they have surely passed, or less.  What was
/// left out is counted in `left_out`.
std::optional<Event> outcome_news(const std::vector<JobInfo>& begun, TimePoint now, Micros lives);

}  // namespace sickbay
