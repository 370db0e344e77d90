// SPDX-License-Identifier: Apache-2.0
#include "service/engine_seat.h"

#include "model/ids.h"

namespace sickbay {
void IdentifySeat::apply(const Event& event) {
  identify::apply(state_, event);
  if (const auto no = parse_case_name(event.subject); no && state_.open.contains(*no)) touch(event.subject);
  // What happens to nodes may matter to every open case.
  if (event.kind == identify::kNodesSeen || event.kind == identify::kControllerSeen) touch_all();
}

void IdentifySeat::touch_all() {
  for (const std::int64_t no : state_.open) touch(case_name(no));
}

EngineSeat::Turn IdentifySeat::decide(const std::string& subject, TimePoint now) {
  const auto no = parse_case_name(subject);
  const auto it = no ? state_.cases.find(*no) : state_.cases.end();
  if (it == state_.cases.end()) return {};
  identify::Decision decision = identify::decide(state_, policy_, it->second, now);
  return {std::move(decision.commands), std::move(decision.records), decision.wake_at};
}

void DrainSeat::apply(const Event& event) {
  for (const std::string& node : drain::apply(state_, event)) touch(node_subject(node));
}

void DrainSeat::touch_all() {
  for (const auto& [name, node] : state_.nodes)
    if (node.ours || !node.reasons.empty()) touch(node_subject(name));
}

EngineSeat::Turn DrainSeat::decide(const std::string& subject, TimePoint now) {
  drain::Decision decision = drain::decide(state_, policy_, std::string(node_of_subject(subject)), now);
  return {std::move(decision.commands), std::move(decision.records), decision.wake_at};
}

}  // namespace sickbay
