// SPDX-License-Identifier: Apache-2.0
// A job that goes on after its case is closed: put back into the queue since a node was to blame.
//
// What its owner asked for (`--recover`) another engine does, and tells by recovery_opened and
// recovery_closed.  The run that follows is looked after by a case of its own, whose first run it is: the
// verdict that sent it back stands.  Runs of that case are of what was submitted for the first one, which is
// kept for as long.  Source: doc/design/recover.md.
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Whether the job is put back into the queue when this verdict is final: its owner asked, and nodes are
/// named, or were lost under it: Slurm itself would have put it back, had it seen that before the job's end.
bool goes_back(const Case& subject, const Verdict& verdict);
/// The event that opens the case of the run that follows; without a subject, as task_case() (array.h).
Event resumed_case(const Case& before);
/// The case with which the submission is kept that the runs of this one are of.
std::int64_t submission_case(const Case& subject);
/// When the last case of this submission was closed; nothing while one is open.
std::optional<TimePoint> all_closed_at(const State& state, const Case& first);

// --- apply(): resume.cc
void on_recovery_opened(State& state, const Event& event);
void on_recovery_closed(State& state, const Event& event);
void open_resumed_case(State& state, Case& fresh, const Event& event);

}  // namespace sickbay::identify
