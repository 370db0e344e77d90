// SPDX-License-Identifier: Apache-2.0
// power_supplies, ups: power, as the management controller and Network UPS Tools tell it.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "adapters/node/parse.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {

ChildPlan power_supplies(const Call& call) {
  if (call.tree->is_this_machine() && !call.tree->exists("/dev/ipmi0") && !call.tree->exists("/dev/ipmi/0"))
    return {{}, {}, unknown("there is no /dev/ipmi0: no management controller, or no driver for it")};
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, {"ipmitool", "sdr", "type", "Power Supply"}));
  plan.read = [](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("ipmitool", outcomes[0])) return *missing;
    if (outcomes[0]->exit_code != 0)
      return unknown(fmt::format("ipmitool ended with exit code {}: {}", outcomes[0]->exit_code,
                                 quote_for_message(trimmed(outcomes[0]->err))));
    const PowerSupplies supplies = parse_power_supplies(outcomes[0]->out);
    if (supplies.all == 0) return unknown("the management controller knows no power supply");
    return found(
        Json::object({{"power_supplies", supplies.all}, {"power_supplies_failed", supplies.failed}}));
  };
  return plan;
}

ChildPlan ups(const Call& call) {
  const std::string name = call.text("ups");
  // (upsc would take it for an option.)
  if (name.empty() || name.front() == '-')
    return {{}, {}, unknown(fmt::format("{} is no name of a UPS", quote_for_message(name)))};
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, {"upsc", name}));
  plan.read = [name](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("upsc", outcomes[0])) return *missing;
    const auto status = upsc_value(outcomes[0]->out, "ups.status");
    if (!status)
      return unknown(fmt::format("upsc says no ups.status of {}: {}", quote_for_message(name),
                                 quote_for_message(trimmed(outcomes[0]->err))));
    // ups.status is a list of words, such as "OB DISCHRG LB".
    bool on_battery = false;
    for (std::string_view rest = *status; !rest.empty();) on_battery |= next_word(rest) == "OB";
    const auto number = [&](std::string_view key, double most) {
      const auto text = upsc_value(outcomes[0]->out, key);
      const auto value = text ? to_fraction(*text) : std::nullopt;
      return value && *value >= 0 && *value <= most ? Json(static_cast<std::int64_t>(*value)) : Json();
    };
    return found(Json::object({{"ups_on_battery", on_battery},
                               {"ups_charge_percent", number("battery.charge", 100)},
                               {"ups_runtime", number("battery.runtime", 1e12)}}));
  };
  return plan;
}

}  // namespace sickbay::node
