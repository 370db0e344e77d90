// SPDX-License-Identifier: Apache-2.0
// Verbs of nodes: drain, undrain, reboot, diagnose.  The manager's calls look before they act, so that each
// may be met twice; a reboot is told by the boot time in its intent (doc/design/decisions.md 16, 24).
#include <array>

#include "model/verbs.h"
#include "ports/resource_manager.h"
#include "service/verbs/verbs.h"

namespace sickbay {
namespace {

void drain(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.drain(command.args["node"].as_string(), command.args["reason"].as_string(),
                      [answer](Result<bool> changed) {
                        if (!changed) return answer(fail(changed.error()));
                        answer(Json::object({{"changed", *changed}}));
                      });
}

void undrain(VerbTools& tools, const Command& command, bool, Answer answer) {
  tools.manager.undrain(command.args["node"].as_string(), command.args["prefix"].as_string(),
                        [answer](Result<bool> changed) {
                          if (!changed) return answer(fail(changed.error()));
                          answer(Json::object({{"changed", *changed}}));
                        });
}

// The boot time of the intent makes it safe to meet twice.
void reboot(VerbTools& tools, const Command& command, bool, Answer answer) {
  RebootOrder order;
  order.node = command.args["node"].as_string();
  order.boot = from_micros(command.args["boot"].as_int());
  order.reason = command.args["reason"].as_string();
  order.own_reason_prefix = command.args["prefix"].as_string();
  tools.manager.reboot(std::move(order), [answer](Result<bool> asked) {
    if (!asked) return answer(fail(asked.error()));
    answer(Json::object({{"asked", *asked}}));
  });
}

void diagnose(VerbTools& tools, const Command& command, bool, Answer answer) {
  if (!tools.examine)
    return tools.loop.post(
        [answer] { answer(fail(ErrorCode::conflict, "agents are not listened to here")); });
  tools.examine(command.args["node"].as_string(), command.args["mode"].as_string(), std::move(answer));
}

// A question has no effect, so it may be asked twice.
void ask_node(VerbTools& tools, const Command& command, bool, Answer answer) {
  if (!tools.ask_node)
    return tools.loop.post([answer] { answer(fail(ErrorCode::conflict, "nodes are not asked here")); });
  tools.ask_node(command.args["node"].as_string(), command.args["control"].as_string(), std::move(answer));
}

// What was true of a node a while ago takes it out no more: Slurm may have been away for hours.
void set_down(VerbTools& tools, const Command& command, bool, Answer answer) {
  if (tools.loop.now() > from_micros(command.args["before"].as_int()))
    return tools.loop.post([answer] {
      answer(fail(ErrorCode::conflict,
                  "Slurm was not reached in time: whether the node is lost must be asked anew"));
    });
  tools.manager.set_down(command.args["node"].as_string(), command.args["reason"].as_string(),
                         [answer](Result<bool> changed) {
                           if (!changed) return answer(fail(changed.error()));
                           answer(Json::object({{"changed", *changed}}));
                         });
}

}  // namespace

std::span<const VerbRow> node_verbs() {
  static constexpr auto kRows = std::to_array<VerbRow>({
      {verb::kDrain, drain},
      {verb::kUndrain, undrain},
      {verb::kReboot, reboot},
      {verb::kDiagnose, diagnose},
      {verb::kAskNode, ask_node},
      {verb::kSetDown, set_down},
  });
  return kRows;
}

}  // namespace sickbay
