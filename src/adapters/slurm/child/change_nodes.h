// SPDX-License-Identifier: GPL-2.0-or-later
// Many nodes in one call: drained, or let in again.
#pragma once
#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// `changes`: [{change: "drain", node, reason} or {change: "undrain", node, prefix}].  Answers, in their
/// order, [{changed} or {error}], and {later: true} where there was no time left.  Each node is looked at as
/// for a call of its own; those that get the same are then changed by one request.
Result<Json> change_nodes(const Json& args);

}  // namespace sickbay::slurm
