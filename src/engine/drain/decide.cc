// SPDX-License-Identifier: Apache-2.0
// decide(): whether a node leaves, stays out or comes back; and the breaker.  How that reads: node_view.cc.
//
// Every answer follows from the state alone and may be given twice: a key has the number of its command in
// it, and the ledger starts a key once (decisions.md 15).
#include <fmt/format.h>

#include <algorithm>

#include "engine/drain/parts.h"
#include "model/ids.h"

namespace sickbay::drain {
namespace {

constexpr std::size_t kReasonBytes = 200;  // what `sinfo -R` can show in one look

// At least one: else no node of a small partition could ever leave.  `most` 0: the share alone counts.
int share(std::size_t nodes, int percent, int most) {
  const auto part = static_cast<int>(nodes * static_cast<std::size_t>(percent) / 100);
  return std::max(1, most > 0 ? std::min(most, part) : part);
}

}  // namespace

bool counts(const Policy& policy, const Reason& reason) {
  return !reason.observed && (!reason.of_verdict || policy.on_verdict);
}

std::string slurm_reason(const Reason& reason) {
  std::string text = fmt::format("{}{} {}: {}", kReasonTag, reason.source, reason.rule, reason.text);
  // Slurm keeps a reason as one line; a line break would end it in sinfo's table.
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  if (text.size() > kReasonBytes) {
    std::size_t end = kReasonBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole characters
    text.resize(end);
  }
  return text;
}

// It says when the oldest drain that is one too many falls out of the window, so that nobody has to ask
// before.
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

// A fault that was said to be gone long enough ago.
bool lapsed(const Policy& policy, const Reason& reason, TimePoint now) {
  return reason.gone_at != kNoTime && now >= reason.gone_at + policy.lift_after;
}

// The oldest reason for which the node should leave now; null where there is none.  The oldest, so that the
// text in Slurm does not change with every finding.
const Reason* reason_to_leave(const Policy& policy, const Node& node) {
  const Reason* oldest = nullptr;
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && reason.gone_at == kNoTime && (!oldest || reason.since < oldest->since))
      oldest = &reason;
  return oldest;
}

// A reason that is gone but has not lapsed keeps a node out that is out, and takes none out that is in.
bool may_stay_out(const Policy& policy, const Node& node, TimePoint now) {
  return std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
    return counts(policy, entry.second) && !lapsed(policy, entry.second, now);
  });
}

// The breaker (decisions.md 25).  Two bounds: a wrong rule must not empty a partition at once, nor hour by
// hour. The second has no time at which it passes; apply() wakes who waits when a node comes back.
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
  if (!policy.act) return;  // acting was switched off after the node left: its drain is not set again
  decision.commands.push_back(command(name, "drain", 'd', node.numbers.drains + 1,
                                      Json::object({{"node", name}, {"reason", slurm_reason(reason)}})));
}

// A node that should leave: says why it may not, or sends it.  It needs room in all its partitions, for it
// leaves them all.
void let_leave(const State& state, const Policy& policy, const std::string& name, const Node& node,
               const Reason& reason, TimePoint now, Decision& decision) {
  for (const std::string& partition_name : node.partitions) {
    const auto it = state.partitions.find(partition_name);
    if (it == state.partitions.end()) continue;
    if (const Held h = held(state, policy, it->second, now); !h.why.empty()) {
      // Once for each node that waits: the journal is no place for the same word in every round.
      if (!it->second.tripped || !state.waiting.contains(name))
        decision.records.push_back(
            record("cluster", kBreakerTripped,
                   Json::object({{"partition", partition_name}, {"node", name}, {"why", h.why}})));
      decision.wake_at = std::min(decision.wake_at, h.until);
      return;
    }
  }
  // That there is room again is a fact for whoever watches the breaker, so it goes before the drain.
  for (const std::string& partition_name : node.partitions)
    if (const auto it = state.partitions.find(partition_name);
        it != state.partitions.end() && it->second.tripped)
      decision.records.push_back(
          record("cluster", kBreakerReset, Json::object({{"partition", partition_name}})));
  send_out(policy, name, node, reason, decision);
}

// Whether we act or only observe: that a finding asks for something is news to people in either case.
void tell_people(const Node& node, Decision& decision) {
  for (const auto& [notice, finding] : node.notices) {
    Command tell;
    tell.subject = notice.substr(0, notice.find(':'));  // "f9:b1" is about a reboot for f9
    tell.key = fmt::format("{}{}", notice, kNotifyEnd);
    tell.verb = "notify";
    tell.args = Json::object({{"finding", finding}});
    decision.commands.push_back(std::move(tell));
  }
}

// A fault that is gone must stay gone for a while: one that comes and goes would have its node drained and
// lifted in turn.
void end_reasons(const Policy& policy, const std::string& name, const Node& node, TimePoint now,
                 Decision& decision) {
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
}

// A node that a verdict blames is examined at once, and again until it passes: no agent said what is wrong
// with it, so no agent will say by itself that it is gone.  On a drained node no job can run V; the deep mode
// runs its program there instead (doc/design/diagnose.md, "Out of service").
void examine(const Policy& policy, const std::string& name, const Node& node, TimePoint now,
             Decision& decision) {
  if (node.checking || node.down) return;
  for (const auto& [source, reason] : node.reasons) {
    if (!reason.of_verdict || reason.gone_at != kNoTime) continue;
    const TimePoint due = node.checked_at == kNoTime ? now : node.checked_at + policy.check_every;
    if (now >= due) {
      // One examination answers for all cases that blame the node.
      decision.commands.push_back(
          command(name, "diagnose", 'g', node.numbers.checks + 1,
                  Json::object({{"node", name}, {"mode", "deep"}, {"case", source}})));
      return;
    }
    decision.wake_at = std::min(decision.wake_at, due);
  }
}

void stay_out_or_return(const State& state, const Policy& policy, const std::string& name, const Node& node,
                        TimePoint now, Decision& decision) {
  // What we put out we put back, also where acting was switched off meanwhile: nobody else would.
  if (!may_stay_out(policy, node, now))
    decision.commands.push_back(command(name, "undrain", 'u', node.numbers.lifts + 1,
                                        Json::object({{"node", name}, {"prefix", std::string(kReasonTag)}})));
  // Slurm dropped our drain, as it does after a reboot in vain.  The breaker is not asked: it was counted.
  else if (const Reason* reason = reason_to_leave(policy, node); reason && !node.drained)
    send_out(policy, name, node, *reason, decision);
  else
    let_reboot(state, policy, name, node, now, decision);
}

}  // namespace

Decision decide(const State& state, const Policy& policy, const std::string& name, TimePoint now) {
  Decision decision;
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return decision;
  const Node& node = it->second;

  if (policy.notify) tell_people(node, decision);
  end_reasons(policy, name, node, now, decision);
  if (policy.examine) examine(policy, name, node, now, decision);
  // One order to Slurm at a time: what it shows of the node decides about the next.
  if (node.pending) return decision;
  if (node.ours) {
    stay_out_or_return(state, policy, name, node, now, decision);
    return decision;
  }
  // A drain of somebody else is let be (decisions.md 24), a node that is down takes no work anyhow, and a
  // refusal stands until the node is seen free: Slurm would only say the same.
  const Reason* reason = reason_to_leave(policy, node);
  if (policy.act && reason && node.seen && !node.drained && !node.down && node.refused.empty())
    let_leave(state, policy, name, node, *reason, now, decision);
  return decision;
}

// What is under way comes before what is, and that before what keeps it from being: the word that an operator
// sees must be the newest that is true.
Standing standing_of(const State& state, const Policy& policy, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return Standing::in;
  const Node& node = it->second;
  if (node.rebooting && node.reboot_failed.empty()) return Standing::rebooting;
  if (node.pending) return node.ours ? Standing::returning : Standing::leaving;
  if (node.ours) return Standing::out;
  if (reason_to_leave(policy, node) == nullptr)
    return node.reasons.empty() ? Standing::in : Standing::observed;
  if (!policy.act) return Standing::observed;
  if (node.drained || node.down) return Standing::foreign;
  if (!node.refused.empty()) return Standing::refused;
  return state.waiting.contains(name) ? Standing::waits : Standing::leaving;
}

// Without a node of ours there is no need to look at all nodes in every round.
bool wants_nodes(const State& state) { return !state.waiting.empty() || !state.away.empty(); }

}  // namespace sickbay::drain
