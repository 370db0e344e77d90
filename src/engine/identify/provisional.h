// SPDX-License-Identifier: Apache-2.0
// What can be said while nothing is decided: from the minute in which the job failed somebody asks.
//
// The provisional answer is a verdict like others (not final, confidence low), written when what a reader
// sees changes in kind: a run begins or ends, a node of the run gets evidence against it.  What changes with
// the clock (how long a run waits) is said anew to each reader, and in no event.
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// What a reader sees of a failed job in kind: the answer is written again when this changes.  "P:...".
std::string provisional_rule(const Case& subject);
/// The answer to a failed job of which the table cannot say anything yet.  It counts what all other cases
/// came to, so it is made when its rule has changed and not in each look.
Verdict provisional_verdict(const Known& known, const Case& subject);
/// True for a rule of the above.
bool is_provisional_rule(std::string_view rule);
/// What is under way for an open case and what it waits for, one line each, as of known.now.  Never empty.
std::vector<std::string> under_way(const Known& known, const Case& subject);

}  // namespace sickbay::identify
