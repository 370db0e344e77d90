// SPDX-License-Identifier: Apache-2.0
#include "service/seats/drain_seat.h"

#include "model/ids.h"

namespace sickbay {
namespace {

// Nodes that are out are looked at so that somebody else's hand on them is noticed: there is no hurry.
constexpr std::chrono::seconds kLookAtNodesOut{30};
// A node that has come back must be seen before jobs have filled it.
constexpr std::chrono::seconds kLookForGates{5};

// After these somebody may leave whom the breaker held, or act who had to wait for a claim.
bool may_free_others(const Event& event) {
  return event.kind == kNodesSeen || event.kind == kClaimReleased || event.kind == kBreakerReset ||
         closes_subject(event.kind);
}

}  // namespace

void DrainSeat::apply(const Event& event) {
  for (const std::string& node : drain::apply(state_, cluster_.view, event)) touch(node_subject(node));
  if (event.kind == kClaimReleased && !node_of_subject(event.subject).empty()) touch(event.subject);
  if (may_free_others(event))
    for (const std::string& subject : cluster_.breaker.waiting())
      if (!node_of_subject(subject).empty()) touch(subject);
}

bool DrainSeat::heard(const std::string& node, TimePoint now) {
  // (Of who has nothing against him nothing of before is acted on.)
  if (!state_.sick.contains(node) || !heard_.agents.try_emplace(node, now).second) return false;
  touch(node_subject(node));
  return true;
}

void DrainSeat::touch_all() {
  for (const auto& [name, node] : state_.nodes)
    if (node.ours || node.pending || !node.reasons.empty() || !node.notices.empty())
      touch(node_subject(name));
}

Seat::Turn DrainSeat::decide(const std::string& subject, TimePoint now) {
  drain::Decision decision =
      drain::decide(cluster_, state_, policy_, std::string(node_of_subject(subject)), now, &heard_);
  return {std::move(decision.claims), std::move(decision.records), std::move(decision.commands),
          decision.wake_at};
}

Wish DrainSeat::wish() const {
  Wish wish;
  if (drain::wants_nodes(cluster_, state_, policy_)) wish.nodes_every = kLookAtNodesOut;
  wish.boots = drain::wants_boots(policy_);
  if (wish.boots) wish.nodes_every = kLookForGates;
  return wish;
}

LookedAtClosely DrainSeat::closely() const { return drain::looked_at(state_); }

}  // namespace sickbay
