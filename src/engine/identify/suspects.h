// SPDX-License-Identifier: Apache-2.0
// Suspects: nodes that did not answer Slurm while a run was on them.
//
// Slurm marks a silent slurmd (NOT_RESPONDING, '*') long before it gives the node up.  An upgrade of slurmd
// looks the same, so a suspect is noted and shown, with the times of its silence, and never convicted.
#pragma once
#include <limits>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// A program often notices that a node is gone before Slurm does, which waits for SlurmdTimeout (300 s if not
/// set): a node that goes DOWN this soon after a failed run was lost to it.
inline constexpr std::chrono::seconds kLateDown{600};

/// Nodes of the failed first run of which Slurm has not said yet whether they are lost: they do not answer it
/// now, and V has not spoken of them since.  None once kLateDown is over.  What is concluded before that is
/// concluded without the fact that may explain it all.
std::vector<std::string> nodes_in_doubt(const Known& known, const Case& subject);

/// What the last nodes_seen says of silence, for all open cases: noted for running runs, cleared when it
/// ends.
void note_silence(State& state, const cluster::View& view, TimePoint at);
/// The same for a run that was not known to be on these nodes before.
void suspect_silent(State& state, Case& subject, const Run& run, const cluster::View& view, TimePoint at);
/// Has the nodes of the cluster know (again, no more) of the suspects of a case: when it is opened again, and
/// when it is closed.  Derived, as blame.h is.
void index_suspects(State& state, const Case& subject);
void drop_suspects(State& state, const Case& subject);
/// Open cases in which the node is a suspect that has not answered since, in their order.
const std::set<std::int64_t>& suspecting(const State& state, const std::string& node);
/// The newest `most` of these, in their order, with the time since when.
std::vector<std::pair<std::int64_t, TimePoint>> suspected_in(
    const State& state, const std::string& node, std::size_t most = std::numeric_limits<std::size_t>::max());

}  // namespace sickbay::identify
