// SPDX-License-Identifier: Apache-2.0
// The lines "job NAME ..." of a scenario.
#pragma once
#include "test/sim_runner/scenario.h"
#include "test/sim_runner/scenario_words.h"

namespace sickbay::sim {

/// Errors: bad_input for an unknown word or a bad value.
Status job_line(const Words& words, Scenario& into);

}  // namespace sickbay::sim
