// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/node_group.h"

#include "model/job.h"
#include "model/running_job.h"
#include "model/slurm_state.h"

namespace sickbay::cluster {

bool Node::reboot_issued() const {
  const auto parsed = parse_node_state(state);
  return parsed && parsed->has(NodeFlag::reboot_issued);
}

bool Node::silent() const {
  const auto parsed = parse_node_state(state);
  return parsed && !down && parsed->has(NodeFlag::not_responding);
}

bool Node::failing() const {
  const auto parsed = parse_node_state(state);
  return parsed && fault_of(*parsed) == NodeFault::failing;
}

bool Node::only_reserved() const {
  auto parsed = parse_node_state(state);
  if (!parsed || usable) return false;
  // Usable but for these two: a reservation of ours shows as RESERVED, or as MAINT by its flag.
  parsed->flags &=
      ~(static_cast<std::uint32_t>(NodeFlag::reserved) | static_cast<std::uint32_t>(NodeFlag::maintenance));
  return sickbay::usable(*parsed);
}

Json group_of(const NodeInfo& info, bool closely) {
  std::string text = info.state;
  for (const std::string& flag : info.flags) text += "+" + flag;
  // A state that this version cannot read keeps its words, and is not given work.
  const auto parsed = parse_node_state(info.state, info.flags);
  Json group = Json::object({{"state", text},
                             {"usable", parsed && usable(*parsed)},
                             {"down", parsed && parsed->base == NodeBase::down},
                             {"partitions", info.partitions}});
  // Of a node that is well an old reason is of no interest.
  if (parsed && (parsed->base == NodeBase::down || parsed->has(NodeFlag::drain)))
    group.set("reason", info.reason).set("reason_uid", info.reason_uid);
  // Only where somebody asks: they change all day, and would make every node its own group.
  if (closely) {
    group.set("boot", to_micros(info.boot_time));
    group.set("idle", parsed && is_idle(*parsed));
  }
  return group;
}

Node node_of(const Json& group) {
  Node node;
  node.state = group["state"].as_string();
  node.usable = group["usable"].as_bool();
  node.down = group["down"].as_bool();
  const auto parsed = parse_node_state(node.state);
  node.drained = parsed && parsed->has(NodeFlag::drain);
  node.partitions = group["partitions"].as_strings();
  if (group["reason"].is_string())
    node.reason =
        NodeReason{group["reason"].as_string(), static_cast<std::uint32_t>(group["reason_uid"].as_int())};
  node.boot = from_micros(group["boot"].as_int());
  node.idle = group["idle"].as_bool();
  return node;
}

bool is_news(const Node& before, const Node& now, bool closely) {
  if (before.usable != now.usable || before.down != now.down || before.partitions != now.partitions)
    return true;
  // Another reason may be another person's, or Slurm's after a person's.
  if (before.reason && now.reason && before.reason->text != now.reason->text) return true;
  if (before.silent() != now.silent() || before.failing() != now.failing()) return true;
  // Between IDLE and ALLOCATED a node goes all day long; that is nobody's news.
  return closely &&
         (before.drained != now.drained || before.idle != now.idle || booted_since(now.boot, before.boot));
}

}  // namespace sickbay::cluster
