// SPDX-License-Identifier: Apache-2.0
// Starved nodes: what is made of it that the processes of a run waited for a processor on one of its nodes.
//
// A quota, somebody who stops them, or a neighbour that takes the processor: nothing of it is there any more
// when the run is over, so V finds nothing, and only what was seen while the job ran can name the node.  It
// does where all of this holds: time is what was wrong; one node stood apart from the others of the failed
// run, and one only; the run elsewhere was a good one; and without what was lost there, beyond what the good
// run lost, the failed one would have been as quick.  It is evidence of something that is over: never more
// than medium, and nobody is drained for it.
// Source: doc/design/identify.md, "Starved processes".
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Takes in what was told of a node of `run` (the body of `starved_seen`).
void take_starved(Run& run, const Json& body);
/// The node of the first run that explains why it was too slow, where the second was not; null where none
/// does.
const Starved* starved_cause(const Case& subject);
/// The one node of `run` whose processes waited, where that stood apart; null where there is none, or more.
const Starved* held_up_by(const Run& run);
/// Each failed run of the program, two at least, was too slow and did not get the processors that it asked
/// for: whoever says that the program is the cause cannot be sure.
bool starved_each_time(const Case& subject);
/// The second run failed by its time, of which it lost a third at least to other work: a program that needs
/// half as long again fails so on any nodes.
bool starved_in_rerun(const Case& subject);
/// What was seen of that node of `run` speaks against it: it stood apart, and `run` did not hang in a way
/// that no slow node makes.  (A rank that polls for good asks for its processor for good.)
bool speaks_against_node(const Run& run, const Starved& starved);
/// "a.out waited 48 % of 61 s for a processor on n2, those on the other nodes 1 %".
std::string words_of(const Starved& starved);
/// One line for each that was told of a run of the program.
void add_starved_lines(const Case& subject, std::vector<std::string>& why);

}  // namespace sickbay::identify
