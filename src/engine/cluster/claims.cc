// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/claims.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/ids.h"

namespace sickbay::cluster {

Json Claim::to_json() const {
  return Json::object({{"holder", holder},
                       {"by", by},
                       {"reason", reason},
                       {"out", out},
                       {"until", until == kNever ? Json() : Json(to_micros(until))}});
}

Event Claims::claimed(const Claim& claim) { return new_event(claim.on, kClaimed, claim.to_json()); }

Event Claims::released(const std::string& on, std::string_view holder, std::string why) {
  return new_event(on, kClaimReleased, Json::object({{"holder", holder}, {"why", std::move(why)}}));
}

void Claims::erase(const std::string& on) {
  const std::string node(node_of_subject(on));
  claims_.erase(on);
  out_.erase(node);
  uncount(node);
}

// By the partitions that it had when it was counted: uncount() must take from those, whatever they are now.
void Claims::count(const View& view, const std::string& node) {
  uncount(node);
  const Node* shown = view.node(node);
  const auto claim = claims_.find(node_subject(node));
  if (shown == nullptr || claim == claims_.end()) return;
  for (const std::string& partition : shown->partitions) ++out_of_[partition];
  counted_[node] = {shown->partitions, claim->second.until};
  if (claim->second.until != kNever) by_end_.emplace(claim->second.until, node);
}

void Claims::uncount(const std::string& node) {
  const auto it = counted_.find(node);
  if (it == counted_.end()) return;
  for (const std::string& partition : it->second.partitions)
    if (const auto out = out_of_.find(partition); --out->second == 0) out_of_.erase(out);
  by_end_.erase({it->second.until, node});
  counted_.erase(it);
}

// Time does not run backwards (decisions.md 10): what has run out by an event counts no more.
void Claims::drop_ended(TimePoint now) {
  while (!by_end_.empty() && by_end_.begin()->first <= now) uncount(std::string(by_end_.begin()->second));
}

void Claims::apply(const View& view, const Event& event) {
  drop_ended(event.at);
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
    const std::string node(node_of_subject(claim.on));
    const bool out = claim.out, holds = claim.until > event.at;
    claims_.emplace(event.subject, std::move(claim));
    // out_ and out_of_ are kept beside the claims, so that the breaker's answer does not go through all of
    // them (breaker_cost_test.cc).
    if (out) out_.insert(node);
    if (out && holds) count(view, node);
  } else if (event.kind == kClaimReleased) {
    // A late word of a former holder must not take the claim from the present one.
    if (const auto it = claims_.find(event.subject);
        it != claims_.end() && it->second.holder == event.body["holder"].as_string())
      erase(event.subject);
  } else if (event.kind == kNodesSeen) {
    for (const View::Change& change : view.changes)
      if (change.gone)
        erase(node_subject(change.name));
      else if (keeps_out(change.name, event.at))
        count(view, change.name);  // it may be in other partitions now
  } else if (closes_subject(event.kind)) {
    // A holder whose subject is closed holds nothing (decisions.md 21).
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

std::size_t Claims::out_of(const std::string& partition, TimePoint now) const {
  const auto it = out_of_.find(partition);
  if (it == out_of_.end()) return 0;
  std::size_t out = it->second;
  // Those that ran out since the last event.
  // (Time passes between two events; by_end_ is in the order of time.)
  for (const auto& [end, node] : by_end_) {
    if (end > now) break;
    out -= static_cast<std::size_t>(std::ranges::count(counted_.at(node).partitions, partition));
  }
  return out;
}

std::string canonical_text(const Claims& claims) {
  std::string text;
  for (const auto& [on, claim] : claims.all())
    text += fmt::format("claim {} {} since {}\n", on, claim.to_json().dump(), to_micros(claim.since));
  return text;
}

}  // namespace sickbay::cluster
