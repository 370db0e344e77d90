// SPDX-License-Identifier: Apache-2.0
// Signs: what agents found on the nodes of a run, as evidence beside the experiment.
//
// A finding never makes a verdict: it is shown with the case, so that whoever reads it sees that the node
// which is blamed had a sick disk as well, or that a node which is not blamed had one.
// Source: doc/design/diagnose.md, "Findings".
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Takes in a finding of an agent (subject f9): a fault is kept with its node until it is said to be gone,
/// and goes to every open case with a run that it fits.
void take_finding(State& state, const Event& event);
/// Whether what was found there stood while a job ran from `start` to `end` (kNoTime: it still runs).
bool was_there(const Sign& sign, TimePoint start, TimePoint end);
/// Gives `subject` the signs on the nodes of `run` that fit its time.
void gather_signs(const State& state, Case& subject, const Run& run);

}  // namespace sickbay::identify
