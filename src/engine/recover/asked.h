// SPDX-License-Identifier: Apache-2.0
// What engine/recover hears of cases whose owner asked for a recovery, for apply(), and what follows of it
// while they are open, for decide() (asked.cc).
#pragma once
#include "engine/recover/recover.h"

namespace sickbay::recover {

void hear_case_opened(State& state, const Event& event);
/// True: the job is to begin sooner than Slurm lets it (begins_sooner).
bool hear_job_seen(State& state, const Event& event);
void hear_verdict(State& state, const Event& event);
/// True: its job is to begin anew.
bool hear_case_closed(State& state, const Event& event);

/// Of jobs that began anew and wait for nothing but the begin time that Slurm gives those: that they begin
/// now.
std::vector<Command> begins_sooner(const State& state);

}  // namespace sickbay::recover
