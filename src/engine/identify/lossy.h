// SPDX-License-Identifier: Apache-2.0
// Lossy links: what is made of it that the network of a run lost packets between its nodes.
//
// A job that completed is told what held it up, and on whose link where that is known.  It is evidence of
// something that is over: it stands beside a failure, and decides nothing of it (there V looks at the links
// itself), and nobody is drained for it.  Source: doc/design/identify.md, "Lossy links".
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Takes in what was told of the network of `run` (the body of `lossy_seen`).
void take_lossy(Run& run, const Json& body);
/// The node that is named; where none is, the ends of what lost packets.
std::vector<std::string> ends_of(const Lossy& lossy);
/// "1.1 % of 314192 TCP segments were lost on the link of n2, elsewhere 0.0 %".
std::string words_of(const Lossy& lossy);
/// One line for each run of the program of which such a thing was told.
void add_lossy_lines(const Case& subject, std::vector<std::string>& why);

}  // namespace sickbay::identify
