// SPDX-License-Identifier: Apache-2.0
#include "service/agent/modes.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/diagnosis_mode.h"

namespace sickbay::agent {
namespace {

bool is_mode_text(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && is_diagnosis_mode(*text);
}
bool is_mode_flag(const std::string& name, const Value& value) {
  return std::holds_alternative<bool>(value) && is_diagnosis_mode(name);
}

}  // namespace

Initial initial_for(const diagnose::Specification& specification, const diagnose::Period* now,
                    std::string_view mode) {
  const auto& periods = specification.periods;
  if (periods.empty()) return {};
  const auto fits = [&](const diagnose::Period& period) { return mode_of(period.initial) == mode; };
  if (now != nullptr && fits(*now)) return now->initial;
  const auto fitting = std::ranges::find_if(periods, fits);
  if (fitting != periods.end()) return fitting->initial;
  Initial initial = (now != nullptr ? *now : periods.front()).initial;
  for (auto& [name, value] : initial)
    if (is_mode_text(value)) value = std::string(mode);
  // Flags that another period has count, too: a burn-in that this one does not speak of stays off.
  for (const diagnose::Period& period : periods)
    for (const auto& [name, value] : period.initial) {
      if (!is_mode_flag(name, value)) continue;
      const Value wanted = depth_of_mode(name) <= depth_of_mode(mode);
      const auto known = std::ranges::find(initial, name, &Initial::value_type::first);
      if (known == initial.end())
        initial.emplace_back(name, wanted);
      else
        known->second = wanted;
    }
  return initial;
}

std::optional<bool> repair_word(const Initial& initial) {
  for (const auto& [name, value] : initial)
    if (const bool* word = std::get_if<bool>(&value); word != nullptr && name == diagnose::kMayRepair)
      return *word;
  return std::nullopt;
}

diagnose::Permit permit_repair(const RepairWords& words) {
  if (!words.site) return {false, "repair.allowed is false in this node's configuration"};
  if (words.now != nullptr && !repair_word(words.now->initial).value_or(true))
    return {false, fmt::format("the period '{}', which holds now, says \"repair\": false", words.now->name)};
  if (!repair_word(*words.initial).value_or(true))
    return {false, fmt::format("the initial values of this run ({}) say \"repair\": false", words.period)};
  if (!words.request.value_or(true))
    return {false, "the request did not ask for repairs (sickbay diagnose --repair)"};
  return {true, ""};
}

}  // namespace sickbay::agent
