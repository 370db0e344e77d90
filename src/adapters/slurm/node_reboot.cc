// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/node_reboot.h"

#include <fmt/format.h>

#include "adapters/slurm/command_error.h"
#include "base/text.h"
#include "model/slurm_state.h"

namespace sickbay::slurm {
Result<bool> needs_reboot(const NodeInfo& node, const RebootOrder& order) {
  // Booted since the intent was written: a repeat must not boot it twice.
  if (booted_since(node.boot_time, order.boot)) return false;
  const auto state = parse_node_state(node.state, node.flags);
  if (!state) return fail(state.error());
  if (state->has(NodeFlag::reboot_requested) || state->has(NodeFlag::reboot_issued)) return false;
  if (!state->has(NodeFlag::drain) || !node.reason.starts_with(order.own_reason_prefix))
    return fail(Error(ErrorCode::conflict, fmt::format("node {} is not drained by Sickbay", node.name))
                    .because(node.reason.empty() ? "it has no reason"
                                                 : "its reason is " + quote_for_message(node.reason, 200)));
  if (!is_idle(*state))
    return fail(Error(ErrorCode::busy, fmt::format("node {} is not idle: {}", node.name, to_string(*state))));
  return true;
}

ProcessSpec reboot_command(const RebootOrder& order, const std::string& scontrol,
                           const std::string& slurm_conf) {
  ProcessSpec spec;
  spec.argv = {scontrol, "reboot", "reason=" + order.reason, order.node};
  spec.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C", "SLURM_CONF=" + slurm_conf};
  return spec;
}

Error reboot_error(const ProcessOutcome& outcome) {
  Error error = command_error(outcome, "scontrol", "the node may reboot all the same");
  if (error.what.find("RebootProgram") != std::string::npos)
    return std::move(error).remedied_by(
        "name a RebootProgram in slurm.conf ('scontrol reconfigure'), or reboot the node by hand");
  return error;
}

}  // namespace sickbay::slurm
