// SPDX-License-Identifier: Apache-2.0
// What engine/recover hears of cases whose owner asked for a recovery; for apply() alone (asked.cc).
#pragma once
#include "engine/recover/recover.h"

namespace sickbay::recover {

void hear_case_opened(State& state, const Event& event);
void hear_job_seen(State& state, const Event& event);
void hear_verdict(State& state, const Event& event);
/// True: its job is to begin anew.
bool hear_case_closed(State& state, const Event& event);

}  // namespace sickbay::recover
