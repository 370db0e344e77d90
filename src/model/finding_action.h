// SPDX-License-Identifier: Apache-2.0
// What a finding asks for, by its word: "drain", "notify", "restart", "reboot", "power_off", "none".
#pragma once
#include <string_view>

namespace sickbay {

/// Whether it takes its node out of service.
constexpr bool takes_node_out(std::string_view action) {
  return action == "drain" || action == "reboot" || action == "power_off";
}

}  // namespace sickbay
