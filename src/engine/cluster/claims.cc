// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/claims.h"

#include <fmt/format.h>

#include "model/ids.h"

namespace sickbay::cluster {

Json Claim::to_json() const {
  return Json::object({{"holder", holder},
                       {"by", by},
                       {"reason", reason},
                       {"out", out},
                       {"until", until == kNever ? Json() : Json(to_micros(until))}});
}

Event Claims::claimed(const Claim& claim) {
  Event event;
  event.subject = claim.on;
  event.kind = kClaimed;
  event.body = claim.to_json();
  return event;
}

Event Claims::released(const std::string& on, std::string_view holder, std::string why) {
  Event event;
  event.subject = on;
  event.kind = kClaimReleased;
  event.body = Json::object({{"holder", holder}, {"why", std::move(why)}});
  return event;
}

void Claims::erase(const std::string& on) {
  claims_.erase(on);
  out_.erase(std::string(node_of_subject(on)));
}

void Claims::apply(const View& view, const Event& event) {
  if (event.kind == kClaimed) {
    erase(event.subject);  // the holder may renew it, with another reason or end
    Claim claim;
    claim.on = event.subject;
    claim.holder = event.body["holder"].as_string();
    claim.by = event.body["by"].as_string();
    claim.reason = event.body["reason"].as_string();
    claim.out = event.body["out"].as_bool();
    if (event.body["until"].is_int()) claim.until = from_micros(event.body["until"].as_int());
    claim.since = event.at;
    if (claim.out) out_.insert(std::string(node_of_subject(claim.on)));
    claims_.emplace(event.subject, std::move(claim));
  } else if (event.kind == kClaimReleased) {
    // A late word of a former holder must not take the claim from the present one.
    if (const auto it = claims_.find(event.subject);
        it != claims_.end() && it->second.holder == event.body["holder"].as_string())
      erase(event.subject);
  } else if (event.kind == kNodesSeen) {
    for (const View::Change& change : view.changes)
      if (change.gone) erase(node_subject(change.name));
  } else if (closes_subject(event.kind)) {
    std::set<std::string> ended;
    for (const auto& [on, claim] : claims_)
      if (claim.by == event.subject) ended.insert(on);
    for (const std::string& on : ended) erase(on);
  }
}

const Claim* Claims::find(const std::string& on, TimePoint now) const {
  const auto it = claims_.find(on);
  return it == claims_.end() || it->second.until <= now ? nullptr : &it->second;
}

bool Claims::holds(std::string_view holder, std::string_view by, const std::string& on, TimePoint now) const {
  const Claim* claim = find(on, now);
  return claim != nullptr && claim->holder == holder && claim->by == by;
}

bool Claims::keeps_out(const std::string& node, TimePoint now) const {
  return out_.contains(node) && find(node_subject(node), now) != nullptr;
}

std::string canonical_text(const Claims& claims) {
  std::string text;
  for (const auto& [on, claim] : claims.all())
    text += fmt::format("claim {} {} since {}\n", on, claim.to_json().dump(), to_micros(claim.since));
  return text;
}

}  // namespace sickbay::cluster
