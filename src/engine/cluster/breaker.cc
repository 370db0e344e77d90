// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/breaker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/hostlist.h"
#include "model/ids.h"

namespace sickbay::cluster {
namespace {

// At least 1, else a small partition's nodes could never leave.
int share(std::size_t nodes, int percent, int most) {
  const auto part = static_cast<int>(nodes * static_cast<std::size_t>(percent) / 100);
  return std::max(1, most > 0 ? std::min(most, part) : part);
}

const std::set<std::string>& nodes_of(const View& view, const std::string& partition) {
  static const std::set<std::string> kNone;
  const auto it = view.partitions.find(partition);
  return it == view.partitions.end() ? kNone : it->second;
}

const std::vector<std::string>& partitions_of(const View& view, const std::string& node) {
  static const std::vector<std::string> kNone;
  const Node* n = view.node(node);
  return n ? n->partitions : kNone;
}

}  // namespace

void Breaker::apply(const View& view, const Claims& claims, const Event& event) {
  if (event.kind == kNodesSeen) return on_nodes_seen(view, claims, event);
  if (event.kind == kIntent) {
    const std::vector<std::string> draws = event.body["draws"].as_strings();
    // At the intent and not when Slurm shows it: two engines that ask within one look must not both have the
    // last place.
    for (const std::string& node : draws) note_leaving(view, node, event.at);
    if (!draws.empty()) waiting_.erase(event.subject);
  } else if (event.kind == kBreakerTripped) {
    partitions_[event.body["partition"].as_string()].tripped = true;
    // Before there was more than one engine the subject was always the node.
    const std::string& by = event.body["by"].as_string();
    waiting_.insert(by.empty() ? node_subject(event.body["node"].as_string()) : by);
  } else if (event.kind == kBreakerReset) {
    partitions_[event.body["partition"].as_string()].tripped = false;
  } else if (event.kind == kBreakerWaitEnded) {
    waiting_.erase(event.body["by"].as_string());
  } else if (closes_subject(event.kind)) {
    waiting_.erase(event.subject);
  }
  // (Only events that were raised to this version have it: drain::raise.)
  for (const std::string& by : event.body["no_longer_wait"].as_strings()) waiting_.erase(by);
}

void Breaker::on_nodes_seen(const View& view, const Claims& claims, const Event& event) {
  // (Older journals have no claims: drain::raise says there which drains are ours.)
  const std::vector<std::string> ours = event.body["ours"].as_strings();
  for (const View::Change& change : view.changes) {
    if (change.gone) {
      waiting_.erase(node_subject(change.name));
      continue;
    }
    // Drained by somebody else: it counts, for whoever drains many nodes may be right or wrong, and the
    // partition is that much smaller in any case.  A node that we see for the first time says nothing of when
    // it left.
    const Node* now = view.node(change.name);
    if (!change.before || change.before->drained || now == nullptr || !now->drained) continue;
    if (claims.keeps_out(change.name, event.at) || std::ranges::find(ours, change.name) != ours.end())
      continue;
    note_leaving(view, change.name, event.at);
  }
}

void Breaker::note_leaving(const View& view, const std::string& node, TimePoint at) {
  for (const std::string& partition : partitions_of(view, node)) {
    auto& [left, last, tripped] = partitions_[partition];
    // Old entries go when new ones come; of a node that left again since, `last` is younger and stays.
    for (; !left.empty() && left.front().first < at - kLongestWindow; left.pop_front())
      if (const auto it = last.find(left.front().second);
          it != last.end() && it->second == left.front().first)
        last.erase(it);
    left.emplace_back(at, node);
    last[node] = at;
  }
}

Breaker::Held Breaker::held_by_recent_of(const BreakerPolicy& policy, const View& view,
                                         const std::string& partition, TimePoint now) const {
  const auto it = partitions_.find(partition);
  if (it == partitions_.end()) return {};
  const auto& left = it->second.left;
  const int limit = share(nodes_of(view, partition).size(), policy.most_percent, policy.most);
  const TimePoint from = now - policy.window;
  // (Entries are in the order of time, so it is found without looking at all of them: who waits asks often.)
  const auto first = std::ranges::upper_bound(left, from, {}, [](const auto& entry) { return entry.first; });
  if (const auto recent = left.end() - first; recent >= limit)
    return {fmt::format("{} of at most {} nodes left within {} min", recent, limit,
                        std::chrono::duration_cast<std::chrono::minutes>(policy.window).count()),
            // When so many have left the window that one more fits: more may have left than the bound, by
            // others' hands.
            (first + (recent - limit))->first + policy.window};
  return {};
}

Breaker::Held Breaker::held(const BreakerPolicy& policy, const View& view, const Claims& claims,
                            const std::string& partition, const std::string& node, TimePoint now) const {
  if (Held recent = held_by_recent_of(policy, view, partition, now); !recent.why.empty()) return recent;
  const int most_out = share(nodes_of(view, partition).size(), policy.most_out_percent, 0);
  // (Who asks may hold the claim already: the node itself, which is in the partition, is not yet out.)
  const int out = static_cast<int>(claims.out_of(partition, now)) - (claims.keeps_out(node, now) ? 1 : 0);
  // No time is worth waiting for: a node must come back first.
  if (out >= most_out) return {fmt::format("{} of at most {} nodes are out by us", out, most_out)};
  return {};
}

std::size_t Breaker::room(const BreakerPolicy& policy, const View& view, const Claims& claims,
                          const std::string& partition, TimePoint now) const {
  if (!held_by_recent_of(policy, view, partition, now).why.empty()) return 0;
  const auto most =
      static_cast<std::size_t>(share(nodes_of(view, partition).size(), policy.most_out_percent, 0));
  const std::size_t out = claims.out_of(partition, now);
  return out < most ? most - out : 0;
}

Breaker::Leave Breaker::ask(const BreakerPolicy& policy, const View& view, const Claims& claims,
                            const std::string& node, const std::string& by, TimePoint now) const {
  Leave leave;
  // A node of two partitions takes from both, so both must have room.
  for (const std::string& partition : partitions_of(view, node)) {
    leave.held = held(policy, view, claims, partition, node, now);
    if (leave.held.why.empty()) continue;
    // Said once for each who waits, and again when the breaker trips anew.
    const auto it = partitions_.find(partition);
    if (it == partitions_.end() || !it->second.tripped || !waits(by)) {
      Json body = Json::object({{"partition", partition}, {"node", node}, {"why", leave.held.why}});
      if (by != node_subject(node)) body.set("by", by);
      leave.records.push_back(new_event("cluster", kBreakerTripped, std::move(body)));
    }
    return leave;
  }
  leave.granted = true;
  // It has room again: said once, with the first leave.
  for (const std::string& partition : partitions_of(view, node))
    if (const auto it = partitions_.find(partition); it != partitions_.end() && it->second.tripped)
      leave.records.push_back(new_event("cluster", kBreakerReset, Json::object({{"partition", partition}})));
  return leave;
}

Breaker::Held Breaker::held_by_recent(const BreakerPolicy& policy, const View& view, const std::string& node,
                                      TimePoint now) const {
  if (is_counted(policy, view, node, now)) return {};
  for (const std::string& partition : partitions_of(view, node))
    if (Held held = held_by_recent_of(policy, view, partition, now); !held.why.empty()) return held;
  return {};
}

bool Breaker::is_counted(const BreakerPolicy& policy, const View& view, const std::string& node,
                         TimePoint now) const {
  const auto& names = partitions_of(view, node);
  return std::all_of(names.begin(), names.end(), [&](const std::string& partition) {
    const auto it = partitions_.find(partition);
    if (it == partitions_.end()) return false;
    const auto last = it->second.last.find(node);
    return last != it->second.last.end() && last->second > now - policy.window;
  });
}

Event Breaker::wait_ended(const std::string& by) {
  return new_event("cluster", kBreakerWaitEnded, Json::object({{"by", by}}));
}

std::string canonical_text(const Breaker& breaker) {
  std::string text;
  for (const auto& [name, p] : breaker.partitions()) {
    text += fmt::format("breaker {} {}:", name, p.tripped);
    for (const auto& [at, node] : p.left) text += fmt::format(" {}@{}", node, to_micros(at));
    text += "\n";
  }
  return text + fmt::format("waiting {}\n", fmt::join(breaker.waiting(), ","));
}

}  // namespace sickbay::cluster
