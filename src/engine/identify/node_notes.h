// SPDX-License-Identifier: Apache-2.0
// What people and Slurm said of the nodes of a run: who set one DOWN, and why one was drained.
//
// Evidence for people, and one rule: a node that a person set DOWN convicts nobody, and a run that ended by
// it did not fail (decisions.md 22).
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Notes how the nodes of a program run stand that has just ended badly.
void note_nodes_at_end(const cluster::View& view, Run& run);
/// Notes the changes of the last nodes_seen on nodes of program runs that are under way or ended badly no
/// longer than `late` ago.
void note_node_changes(State& state, const cluster::View& view, TimePoint at, std::chrono::seconds late);

/// "set DOWN by a person (uid 0: disk exchange)": for people.
std::string words_of(const NodeNote& note);

}  // namespace sickbay::identify
