// SPDX-License-Identifier: Apache-2.0
// Can what V found on a node explain how P failed there?  A node may be faulty and yet not the cause: a full
// file system explains no floating point exception.
#pragma once
#include "engine/identify/identify.h"

namespace sickbay::identify {

/// V's result convicts its node or link, by itself: failed, or slow where that counts.
bool convicts(const NodeResult& result, bool slow_counts);
/// It is about nodes that `program` ran on: V is run on third nodes, too, to tell which end of a link is at
/// fault.
bool concerns(const NodeResult& result, const Run& program);
/// Both, of a run that V was asked about: slow counts where `program` ran out of time.
bool is_bad(const NodeResult& result, const Run& program);
/// Whether such a result can explain how `program` failed.
bool explains(const NodeResult& result, const Run& program);
/// It is only that a file system is full: a user's doing as a rule, and no reason to take a node out.
bool is_full(const NodeResult& result);
/// The folder without room in such a result; "a file system" where it names none.
std::string full_folder(const NodeResult& result);

}  // namespace sickbay::identify
