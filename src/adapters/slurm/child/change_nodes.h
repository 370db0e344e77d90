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

/// What a node is looked at for, and what is to be done.
struct NodeChange {
  bool wanted = false;  ///< false: it is so already
  std::uint32_t state = 0;
  std::string reason;
};
/// Errors: not_found, conflict (somebody else's reason), those of a look.
Result<NodeChange> look_before_drain(const std::string& node, const std::string& reason);
Result<NodeChange> look_before_undrain(const std::string& node, const std::string& prefix);

}  // namespace sickbay::slurm
