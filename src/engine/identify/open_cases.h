// SPDX-License-Identifier: Apache-2.0
// Open cases: which there are, whose, and which nodes they wait for.
//
// What is asked for each request or each node of the cluster is kept beside the cases, so that nobody walks
// over all of them for it.  Derived: apply() keeps it, a replay brings it back, and the canonical text leaves
// it out.
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// `subject` is open from now on, or again.
void set_open(State& state, const Case& subject);
/// It is closed.
void set_closed(State& state, const Case& subject);
/// How many open cases a user has.
std::size_t open_cases_of(const State& state, std::uint32_t uid);

}  // namespace sickbay::identify
