// SPDX-License-Identifier: Apache-2.0
// decide(): whether a node leaves, stays out or comes back; the breaker; and how that reads.
#include <fmt/format.h>

#include <algorithm>

#include "engine/drain/parts.h"
#include "model/ids.h"

namespace sickbay::drain {
namespace {

constexpr std::size_t kReasonBytes = 200;  // what `sinfo -R` can show in one look

int share(std::size_t nodes, int percent, int most) {
  const auto part = static_cast<int>(nodes * static_cast<std::size_t>(percent) / 100);
  return std::max(1, most > 0 ? std::min(most, part) : part);
}

}  // namespace

bool counts(const Policy& policy, const Reason& reason) {
  return !reason.observed && (reason.rule != kVerdictRule || policy.on_verdict);
}

std::string slurm_reason(const Reason& reason) {
  std::string text = fmt::format("{}{} {}: {}", kReasonTag, reason.source, reason.rule, reason.text);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  if (text.size() > kReasonBytes) {
    std::size_t end = kReasonBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters
    text.resize(end);
  }
  return text;
}

Held held_by_recent(const Policy& policy, const Partition& partition, TimePoint now) {
  const int limit = share(partition.nodes.size(), policy.most_percent, policy.most);
  const TimePoint from = now - policy.window;
  const auto first = std::find_if(partition.left.begin(), partition.left.end(),
                                  [&](const auto& entry) { return entry.first > from; });
  if (const auto recent = partition.left.end() - first; recent >= limit)
    return {fmt::format("{} of at most {} nodes left within {} min", recent, limit,
                        std::chrono::duration_cast<std::chrono::minutes>(policy.window).count()),
            (first + (recent - limit))->first + policy.window};
  return {};
}

Event record(std::string subject, std::string_view kind, Json body) {
  Event event;
  event.subject = std::move(subject);
  event.kind = kind;
  event.body = std::move(body);
  return event;
}

Command command(const std::string& name, std::string_view verb, char letter, int number, Json args) {
  Command made;
  made.subject = node_subject(name);
  made.key = fmt::format("{}.{}{}", made.subject, letter, number);
  made.verb = verb;
  made.args = std::move(args);
  return made;
}

namespace {

bool lapsed(const Policy& policy, const Reason& reason, TimePoint now) {
  return reason.gone_at != kNoTime && now >= reason.gone_at + policy.lift_after;
}

// The oldest reason for which the node should leave now; null where there is none.
const Reason* reason_to_leave(const Policy& policy, const Node& node) {
  const Reason* oldest = nullptr;
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && reason.gone_at == kNoTime && (!oldest || reason.since < oldest->since))
      oldest = &reason;
  return oldest;
}
bool may_stay_out(const Policy& policy, const Node& node, TimePoint now) {
  return std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
    return counts(policy, entry.second) && !lapsed(policy, entry.second, now);
  });
}

Held held(const State& state, const Policy& policy, const Partition& partition, TimePoint now) {
  if (Held recent = held_by_recent(policy, partition, now); !recent.why.empty()) return recent;
  const int most_out = share(partition.nodes.size(), policy.most_out_percent, 0);
  const auto out = std::count_if(state.away.begin(), state.away.end(),
                                 [&](const std::string& name) { return partition.nodes.contains(name); });
  if (out >= most_out) return {fmt::format("{} of at most {} nodes are out by us", out, most_out)};
  return {};
}

void send_out(const Policy& policy, const std::string& name, const Node& node, const Reason& reason,
              Decision& decision) {
  if (!policy.act) return;
  decision.commands.push_back(command(name, "drain", 'd', node.numbers.drains + 1,
                                      Json::object({{"node", name}, {"reason", slurm_reason(reason)}})));
}

// A node that should leave: says why it may not, or sends it.
void let_leave(const State& state, const Policy& policy, const std::string& name, const Node& node,
               const Reason& reason, TimePoint now, Decision& decision) {
  for (const std::string& partition_name : node.partitions) {
    const auto it = state.partitions.find(partition_name);
    if (it == state.partitions.end()) continue;
    if (const Held h = held(state, policy, it->second, now); !h.why.empty()) {
      if (!it->second.tripped || !state.waiting.contains(name))
        decision.records.push_back(
            record("cluster", kBreakerTripped,
                   Json::object({{"partition", partition_name}, {"node", name}, {"why", h.why}})));
      decision.wake_at = std::min(decision.wake_at, h.until);
      return;
    }
  }
  for (const std::string& partition_name : node.partitions)
    if (const auto it = state.partitions.find(partition_name);
        it != state.partitions.end() && it->second.tripped)
      decision.records.push_back(
          record("cluster", kBreakerReset, Json::object({{"partition", partition_name}})));
  send_out(policy, name, node, reason, decision);
}

}  // namespace

Decision decide(const State& state, const Policy& policy, const std::string& name, TimePoint now) {
  Decision decision;
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return decision;
  const Node& node = it->second;

  if (policy.notify)
    for (const auto& [notice, finding] : node.notices) {
      Command tell;
      tell.subject = notice.substr(0, notice.find(':'));  // "f9:b1" is about a reboot for f9
      tell.key = fmt::format("{}{}", notice, kNotifyEnd);
      tell.verb = "notify";
      tell.args = Json::object({{"finding", finding}});
      decision.commands.push_back(std::move(tell));
    }

  for (const auto& [source, reason] : node.reasons) {
    if (reason.gone_at == kNoTime) continue;
    if (lapsed(policy, reason, now))
      decision.records.push_back(
          record(node_subject(name), kReasonEnded,
                 Json::object({{"source", source},
                               {"why", fmt::format("gone for {} s", policy.lift_after.count())}})));
    else
      decision.wake_at = std::min(decision.wake_at, reason.gone_at + policy.lift_after);
  }

  // A node that a verdict blames is examined at once, and again until it passes.
  for (const auto& [source, reason] : node.reasons)
    if (policy.examine && reason.rule == kVerdictRule && reason.gone_at == kNoTime && !node.checking &&
        !node.down) {
      const TimePoint due = node.checked_at == kNoTime ? now : node.checked_at + policy.check_every;
      if (now >= due) {
        decision.commands.push_back(
            command(name, "diagnose", 'g', node.numbers.checks + 1,
                    Json::object({{"node", name}, {"mode", "deep"}, {"case", source}})));
        break;
      }
      decision.wake_at = std::min(decision.wake_at, due);
    }

  if (node.pending) return decision;
  if (node.ours) {
    // What we put out we put back, also where acting was switched off meanwhile.
    if (!may_stay_out(policy, node, now))
      decision.commands.push_back(
          command(name, "undrain", 'u', node.numbers.lifts + 1,
                  Json::object({{"node", name}, {"prefix", std::string(kReasonTag)}})));
    else if (const Reason* reason = reason_to_leave(policy, node); reason && !node.drained)
      send_out(policy, name, node, *reason, decision);  // Slurm dropped our drain
    else
      let_reboot(state, policy, name, node, now, decision);
    return decision;
  }
  const Reason* reason = reason_to_leave(policy, node);
  if (policy.act && reason && node.seen && !node.drained && !node.down && node.refused.empty())
    let_leave(state, policy, name, node, *reason, now, decision);
  return decision;
}

std::string_view standing(const State& state, const Policy& policy, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return "in";
  const Node& node = it->second;
  if (node.rebooting && node.reboot_failed.empty()) return "rebooting";
  if (node.pending) return node.ours ? "returning" : "leaving";
  if (node.ours) return "out";
  if (reason_to_leave(policy, node) == nullptr) return node.reasons.empty() ? "in" : "observed";
  if (!policy.act) return "observed";
  if (node.drained || node.down) return "foreign";
  if (!node.refused.empty()) return "refused";
  return state.waiting.contains(name) ? "waits" : "leaving";
}

Json node_view(const State& state, const Policy& policy, const std::string& name, TimePoint now) {
  Json view = Json::object({{"standing", standing(state, policy, name)}});
  Json reasons = Json::array();
  const auto it = state.nodes.find(name);
  if (it != state.nodes.end())
    for (const auto& [source, reason] : it->second.reasons)
      reasons.push(Json::object({{"source", source},
                                 {"rule", reason.rule},
                                 {"action", reason.action},
                                 {"text", reason.text},
                                 {"since", to_micros(reason.since)},
                                 {"gone", to_micros(reason.gone_at)},
                                 {"observed", reason.observed}}));
  view.set("reasons", std::move(reasons));
  view.set("since", to_micros(it != state.nodes.end() && it->second.ours ? it->second.drained_at : kNoTime));
  view.set("refused", it != state.nodes.end() ? it->second.refused : std::string());
  view.set("wish", wish_text(state, policy, name, now));
  view.set("observe_only", !policy.act);
  return view;
}

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [name, n] : state.nodes) {
    text += fmt::format("{} {} {}{}{}{}{}{} {} {} {} {} {} {}\n", name, fmt::join(n.partitions, ","), n.seen,
                        n.drained, n.down, n.ours, n.pending, n.checking, n.numbers.drains, n.numbers.lifts,
                        n.numbers.checks, to_micros(n.drained_at), to_micros(n.checked_at), n.refused);
    text +=
        fmt::format("  boot {} {} {} {} {} {} {} {}\n", to_micros(n.boot), n.idle, n.numbers.reboots,
                    n.rebooting, to_micros(n.reboot_at), to_micros(n.boot_before), n.reboot_failed, n.late);
    for (const auto& [rule, reboot] : n.rebooted)
      text += fmt::format("  rebooted {} {} {}\n", rule, to_micros(reboot.at), reboot.boot_id);
    for (const auto& [source, r] : n.reasons)
      text += fmt::format("  {} {} {} {} {} {} {} {} {}\n", source, r.rule, r.action, to_micros(r.since),
                          to_micros(r.gone_at), r.observed, r.boot_id, r.reboot_asked, r.text);
    for (const auto& [source, finding] : n.notices) text += fmt::format("  tell {}\n", source);
  }
  for (const auto& [name, p] : state.partitions) {
    text += fmt::format("{} {} {}:", name, fmt::join(p.nodes, ","), p.tripped);
    for (const auto& [at, node] : p.left) text += fmt::format(" {}@{}", node, to_micros(at));
    text += "\n";
  }
  for (const auto& [rule, until] : state.resting)
    text += fmt::format("{} rests until {}\n", rule, to_micros(until));
  return text +
         fmt::format("waiting {}\naway {}\n", fmt::join(state.waiting, ","), fmt::join(state.away, ","));
}

bool wants_nodes(const State& state) { return !state.waiting.empty() || !state.away.empty(); }

}  // namespace sickbay::drain
