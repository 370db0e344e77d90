// SPDX-License-Identifier: Apache-2.0
// What a finding asks for, by its word: "drain", "notify", "restart", "reboot", "power_off", "none"; and by
// which rule it was found.
#pragma once
#include <string>
#include <string_view>

namespace sickbay {

class Json;

/// "node/drain_munged": specification and rule of a finding, or of a repair, as agents tell it.
std::string rule_of_finding(const Json& body);
/// Whether it takes its node out of service.
constexpr bool takes_node_out(std::string_view action) {
  return action == "drain" || action == "reboot" || action == "power_off";
}

}  // namespace sickbay
