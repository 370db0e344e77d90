// SPDX-License-Identifier: Apache-2.0
// V's own way: whom it may be asked about, what it has judged, and how long it is waited for.
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// It began, and what it said is not known yet.
bool is_unread(const Run& verification);
/// Nodes of program run `n` that V has judged for this case, in all its runs: sorted.
std::vector<std::string> judged_nodes(const Case& subject, int n);
/// Nodes that V may be asked about now: those of program run `n` that it has not judged and that are in
/// service; none where it has convicted one; the ends of a bad link with third nodes where that is wanted. 0:
/// a node for the control run.
std::vector<std::string> nodes_to_verify(const Known& known, const Case& subject, int n);
/// The ends of the links that V convicts on the nodes of run `n`, where it had no third node that could say
/// which end is at fault, or neither: sorted.  None where it convicts a node, or no link.
std::vector<std::string> ends_without_witness(const Case& subject, int n);
/// V is to be asked about these ends once more, together with third nodes: there are such, and it may try.
bool wants_witness(const Known& known, const Case& subject, int n);
/// Tries of V on the nodes of run `n` are left, and time.
bool may_try_more(const Known& known, const Case& subject, int n);
/// V has the nodes of program run `n` (0: of the control) to itself, so that it may judge their speed.  Only
/// where speed may be what is wrong: it keeps everybody else's jobs off them.
bool wants_whole_nodes(const Case& subject, int n);
/// The failure is Policy::case_limit ago.
bool time_is_over(const Known& known, const Case& subject);

}  // namespace sickbay::identify
