// SPDX-License-Identifier: GPL-2.0-or-later
// One node: the look before a change of its state, and the change.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/job.h"

namespace sickbay::slurm {

/// The node of `name` as it is now.  Errors: not_found.
Result<NodeInfo> read_node(const std::string& name);
bool has_flag(const NodeInfo& node, std::string_view flag);
/// A reason that is not ours is nobody's to overwrite.
tl::unexpected<Error> foreign_reason(const NodeInfo& node);
/// `state` is a word of slurm.h's for requests: NODE_STATE_DRAIN, ...; answers true.
Result<Json> update_node(const std::string& name, std::uint32_t state, const std::string& reason);

}  // namespace sickbay::slurm
