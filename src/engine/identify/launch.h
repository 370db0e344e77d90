// SPDX-License-Identifier: Apache-2.0
// A job that Slurm could not start: its program never began, so nothing is to be found out by running it.
//
// Slurm does not say so by the job's state.  One that may not be requeued is CANCELLED, as if its owner had
// done that; any other goes back to the queue and is held for good.  What tells them apart from what people
// do: Slurm's own words, for the hold, and for the drain of the node that refused.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Slurm holds the job since it could not start it (once, or as often as it tries), not a person.
bool is_held_by_slurm(const Run& run);
/// "Slurm holds it, ...; 'scontrol release 17' ..." of a run that is held; empty: it is not.
std::string hold_words(const Run& run);

/// The run ended without having begun, by Slurm's doing.
bool failed_to_launch(const Known& known, const Run& run);
/// The verdict of a first run that did, final.
std::optional<Verdict> verdict_of_failed_launch(const Known& known, const Case& subject);
/// What can be said while Slurm holds the first run; `final`: nobody has released it in time.
std::optional<Verdict> verdict_while_held(const Known& known, const Case& subject, bool final);
/// The first run ended so soon that Slurm may have ended it; its reason is told a moment later.
bool may_be_failed_launch(const Run& first);

/// In the place of a row's id, of the first of these two; the other's is kRuleNotStarted.
inline constexpr std::string_view kRuleLaunch = "launch";

}  // namespace sickbay::identify
