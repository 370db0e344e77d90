// SPDX-License-Identifier: Apache-2.0
// What the two halves of apply() share; for them only.
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

// --- apply_commands.cc: what we wanted and what came of it (the ledger's three kinds of event)

void on_intent(State& state, const cluster::View& view, Case* subject, const Event& event);
void on_done(State& state, const cluster::View& view, Case* subject, const Event& event);
void on_failed(State& state, const cluster::View& view, Case* subject, const Event& event);

/// Tells a reader of the case something that may come up again and again.
void note_once(Case& subject, std::string note);
/// Has people find the case by the number of a job, also where another case had that one.
void name_by_job(State& state, Case& subject, JobId job);
/// The run of a case by id, or null.
Run* run_in(Case& subject, const RunId& id);
/// A fresh run in the place of `id`, for a binding or an intent that creates it or tries it again.
Run& put_run(Case& subject, const RunId& id);
/// How a run ended, or stands, as of `at`.
void finish(Run& run, Outcome outcome, TimePoint at);
/// What the user's own check of a result says, once it has ended, decides about the run that it looked at.
void settle_result(Case& subject, const Run& check);

}  // namespace sickbay::identify
