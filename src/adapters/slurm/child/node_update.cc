// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/node_update.h"

#include <fmt/format.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/slurm/child/job_handle.h"
#include "adapters/slurm/child/slurm_error.h"
#include "base/text.h"

namespace sickbay::slurm {

Result<NodeInfo> read_node(const std::string& name) {
  node_info_msg_t* raw = nullptr;
  if (slurm_load_node_single(&raw, c_text(name), SHOW_ALL) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading node " + name));
  const Nodes answer(raw);
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    if (answer->node_array[i].name && name == answer->node_array[i].name)
      return node_info(answer->node_array[i]);
  return fail(ErrorCode::not_found, fmt::format("slurmctld knows no node {}", quote_for_message(name)));
}

bool has_flag(const NodeInfo& node, std::string_view flag) {
  return std::find(node.flags.begin(), node.flags.end(), flag) != node.flags.end();
}

tl::unexpected<Error> foreign_reason(const NodeInfo& node) {
  return fail(Error(ErrorCode::conflict, fmt::format("node {} bears the reason {}", node.name,
                                                     quote_for_message(node.reason, 200)))
                  .because("Sickbay did not set it, and Slurm would overwrite it")
                  .remedied_by("whoever set it lifts it (scontrol show node " + node.name + ")"));
}

Result<Json> update_node(const std::string& name, std::uint32_t state, const std::string& reason) {
  update_node_msg_t message;
  slurm_init_update_node_msg(&message);
  message.node_names = c_text(name);
  message.node_state = state;
  message.reason = c_text(reason);
  set_reason_uid(message, getuid());
  if (slurm_update_node(&message) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::effect, "changing node " + name));
  return Json(true);
}

}  // namespace sickbay::slurm
