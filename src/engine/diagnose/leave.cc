// SPDX-License-Identifier: Apache-2.0
#include "engine/diagnose/leave.h"

#include <algorithm>

#include "engine/diagnose/truth.h"

namespace sickbay::diagnose {

bool may_need_leave(const Rules& rules, const std::vector<std::pair<std::string, Value>>& initial,
                    Permits permits) {
  permits.active.given = true;
  const auto would_run = [&](Index o) {
    return rules.operations[o].active && objection_to(rules.operations[o], permits).empty();
  };
  if (std::ranges::none_of(rules.productions, would_run, &Rules::ProductionRule::operation)) return false;

  // What an operation gives may be anything by then, also where it has an initial value.
  std::vector<bool> is_given(rules.characteristics.size(), false);
  for (const Rules::OperationRule& o : rules.operations)
    for (const auto& [own, z] : o.outputs) is_given[z] = true;
  std::vector<Fact> facts(rules.characteristics.size());
  for (Fact& fact : facts) fact.state = Fact::State::unknown;
  for (const auto& [name, value] : initial) {
    const Index z = rules.find_characteristic(name);
    if (z == kNone || is_given[z]) continue;
    auto fits = value_from_json(sickbay::to_json(value), rules.specification.characteristics[z].type);
    if (fits) facts[z] = Fact{Fact::State::known, std::move(*fits), "", kNone};
  }
  std::vector<std::optional<Truth>> atoms(rules.atoms.size());
  std::string why;
  return std::ranges::any_of(rules.productions, [&](const Rules::ProductionRule& p) {
    return would_run(p.operation) && evaluate(rules, p.condition, facts, atoms, why) != Truth::no;
  });
}

}  // namespace sickbay::diagnose
