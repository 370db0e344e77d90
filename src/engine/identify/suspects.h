// SPDX-License-Identifier: Apache-2.0
// Suspects: nodes that did not answer Slurm while a run was on them.
//
// Slurm marks a silent slurmd (NOT_RESPONDING, '*') long before it gives the node up.  An upgrade of slurmd
// looks the same, so a suspect is noted and shown, with the times of its silence, and never convicted.
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// What the last nodes_seen says of silence, for all open cases: noted for running runs, cleared when it
/// ends.
void note_silence(State& state, const cluster::View& view, TimePoint at);
/// The same for a run that was not known to be on these nodes before.
void suspect_silent(Case& subject, const Run& run, const cluster::View& view, TimePoint at);
/// Open cases in which the node is a suspect that has not answered since, with the time since when.
std::vector<std::pair<std::int64_t, TimePoint>> suspected_in(const State& state, const std::string& node);

}  // namespace sickbay::identify
