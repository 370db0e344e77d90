// SPDX-License-Identifier: Apache-2.0
// decide(): whether a node leaves, stays out or comes back.  How that reads: node_view.cc.
//
// Every answer follows from the state alone and may be given twice: a key has the number of its command in
// it, and the ledger starts a key once (decisions.md 15).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "engine/drain/parts.h"
#include "model/ids.h"
#include "model/verbs.h"

namespace sickbay::drain {
namespace {

// Slurm keeps a reason as one line, and shows it on terminals as it is: a line break would end it in sinfo's
// table, and a terminal obeys control characters (C1, too, which UTF-8 spells in two bytes) and such as turn
// the direction of what follows.
std::string plain(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Rune rune = next_rune(text);
    const char32_t c = rune.code;
    const bool is_control = c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029;
    const bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
    if (!rune.valid || is_control || turns)
      shown += ' ';
    else
      shown += text.substr(0, rune.bytes);
    text.remove_prefix(rune.bytes);
  }
  return shown;
}

}  // namespace

bool counts(const Policy& policy, const Reason& reason) {
  return !reason.observed && (!reason.of_verdict || policy.on_verdict);
}

std::string slurm_reason(const Reason& reason) {
  const std::string text = fmt::format("{}{} {}: {}", kReasonTag, reason.source, reason.rule, reason.text);
  return std::string(whole_characters(plain(text), kReasonBytes));
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

// A fault that was said to be gone long enough ago, and that has not come and gone too often.
bool lapsed(const Policy& policy, const Node& node, const Reason& reason, TimePoint now) {
  return reason.gone_at != kNoTime && now >= reason.gone_at + policy.lift_after &&
         !is_kept(policy, node, reason);
}

// The oldest reason for which the node should leave now; null where there is none.  The oldest, so that the
// text in Slurm does not change with every finding.
const Reason* reason_to_leave(const Policy& policy, const Node& node) {
  const Reason* oldest = nullptr;
  for (const auto& [source, reason] : node.reasons)
    if (counts(policy, reason) && (reason.gone_at == kNoTime || is_kept(policy, node, reason)) &&
        (!oldest || reason.since < oldest->since))
      oldest = &reason;
  return oldest;
}

// A reason that is gone but has not lapsed keeps a node out that is out, and takes none out that is in.
bool may_stay_out(const Policy& policy, const Node& node, TimePoint now) {
  return std::any_of(node.reasons.begin(), node.reasons.end(), [&](const auto& entry) {
    return counts(policy, entry.second) && !lapsed(policy, node, entry.second, now);
  });
}

// `takes`: it takes the node away.  Else Slurm has dropped a drain of ours that was counted.
void send_out(const Known& k, const std::string& name, const Node& node, const Reason& reason, bool takes,
              Decision& decision) {
  if (!k.policy.act) return;  // acting was switched off after the node left: its drain is not set again
  Command drain =
      command(name, verb::kDrain, 'd', node.numbers.drains + 1,
              Json::object({{"node", name}, {"reason", told_reason(k, node, reason, !node.ours)}}));
  if (takes) drain.draws = {name};
  decision.commands.push_back(std::move(drain));
}

bool has_claim(const Known& k, const std::string& name) {
  return k.cluster.claims.holds(kName, node_subject(name), node_subject(name), k.now);
}

cluster::Claim claim_on(const std::string& name, std::string reason) {
  return {.on = node_subject(name),
          .holder = std::string(kName),
          .by = node_subject(name),
          .reason = std::move(reason),
          .out = true};
}

// Until when the word of the node's agent is waited for.  While sickbayd was away the fault may have gone,
// and its agent will say so within moments; who acts at once takes out, after days, nodes that are well.
TimePoint word_is_due(const Known& k, const std::string& name, const Reason& reason) {
  if (k.heard == nullptr || !k.policy.examine || reason.since >= k.heard->started) return kNoTime;
  if (!parse_finding_name(reason.source)) return kNoTime;  // no agent said it
  const auto heard = k.heard->agents.find(name);
  return heard == k.heard->agents.end() ? k.heard->started + kAgentsBack : heard->second + kFirstWords;
}

// A node that should leave: says why it may not, or sends it.
void let_leave(const Known& k, const std::string& name, const Node& node, const Reason& reason,
               Decision& decision) {
  if (const TimePoint due = word_is_due(k, name, reason); k.now < due) {
    decision.wake_at = std::min(decision.wake_at, due);
    return;
  }
  auto leave = k.cluster.breaker.ask(k.policy.breaker, k.cluster.view, k.cluster.claims, name,
                                     node_subject(name), k.now);
  if (!leave.granted) {
    decision.records.insert(decision.records.end(), leave.records.begin(), leave.records.end());
    decision.wake_at = std::min(decision.wake_at, leave.held.until);
    return;
  }
  // Another engine may be at work on it; then we wait for its end, and look again at what the breaker says.
  decision.claims.push_back(claim_on(name, slurm_reason(reason)));
  if (!has_claim(k, name)) return;
  // That there is room again is a fact for whoever watches the breaker, so it goes before the drain.
  decision.records.insert(decision.records.end(), leave.records.begin(), leave.records.end());
  send_out(k, name, node, reason, true, decision);
}

// Whether we act or only observe: that a finding asks for something is news to people in either case.
void tell_people(const Node& node, Decision& decision) {
  for (const auto& [notice, finding] : node.notices) {
    Command tell;
    tell.subject = notice.substr(0, notice.find(':'));  // "f9:b1" is about a reboot for f9
    tell.key = fmt::format("{}{}", notice, kNotifyEnd);
    tell.verb = verb::kNotify;
    tell.args = Json::object({{"finding", finding}});
    decision.commands.push_back(std::move(tell));
  }
}

// A fault that is gone must stay gone for a while: one that comes and goes would have its node drained and
// lifted in turn.
void end_reasons(const Policy& policy, const std::string& name, const Node& node, TimePoint now,
                 Decision& decision) {
  for (const auto& [source, reason] : node.reasons) {
    if (reason.gone_at == kNoTime || is_kept(policy, node, reason)) continue;
    if (lapsed(policy, node, reason, now))
      decision.records.push_back(
          new_event(node_subject(name), kReasonEnded,
                    Json::object({{"source", source},
                                  {"why", fmt::format("gone for {} s", policy.lift_after.count())}})));
    else
      decision.wake_at = std::min(decision.wake_at, reason.gone_at + policy.lift_after);
  }
}

// A node that a verdict blames is examined at once, and again until it passes: no agent said what is wrong
// with it, so no agent will say by itself that it is gone.  On a drained node no job can run V; the deep mode
// runs its program there instead (doc/design/diagnose.md, "Out of service").
void examine(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  if (node.checking || seen(k.cluster.view, name, node).down) return;
  for (const auto& [source, reason] : node.reasons) {
    if (!reason.of_verdict || reason.gone_at != kNoTime) continue;
    const TimePoint due = node.checked_at == kNoTime ? k.now : node.checked_at + k.policy.check_every;
    if (k.now >= due) {
      // One examination answers for all cases that blame the node.
      decision.commands.push_back(
          command(name, verb::kDiagnose, 'g', node.numbers.checks + 1,
                  Json::object({{"node", name}, {"mode", "deep"}, {"case", source}})));
      return;
    }
    decision.wake_at = std::min(decision.wake_at, due);
  }
}

void lift(const std::string& name, const Node& node, Decision& decision) {
  decision.commands.push_back(command(name, verb::kUndrain, 'u', node.numbers.lifts + 1,
                                      Json::object({{"node", name}, {"prefix", std::string(kReasonTag)}})));
}

void stay_out_or_return(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  // What we put out we put back, also where acting was switched off meanwhile: nobody else would.
  if (!may_stay_out(k.policy, node, k.now)) lift(name, node, decision);
  // Slurm dropped our drain, as it does after a reboot in vain.  The breaker is not asked: it was counted.
  else if (const Reason* reason = reason_to_leave(k.policy, node);
           reason &&
           (!seen(k.cluster.view, name, node).drained || says_too_little(k, node, *reason, decision)))
    send_out(k, name, node, *reason, false, decision);
  else
    let_reboot(k, name, node, decision);
}

// A node that is in service.
void leave_or_stay(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  // A drain of somebody else is let be (decisions.md 24), a node that is down takes no work anyhow, and a
  // refusal stands until the node is seen free: Slurm would only say the same.
  const Reason* reason = reason_to_leave(k.policy, node);
  const Seen now = seen(k.cluster.view, name, node);
  if (k.policy.act && reason && now.known && !now.drained && !now.down && node.refused.empty())
    return let_leave(k, name, node, *reason, decision);
  // What it does not want any more it gives back: others wait for it.
  if (has_claim(k, name))
    decision.records.push_back(
        cluster::Claims::released(node_subject(name), kName, "the node is in service"));
  if (k.cluster.breaker.waits(node_subject(name)))
    decision.records.push_back(cluster::Breaker::wait_ended(node_subject(name)));
}

// A drain or its lifting that Slurm did not answer.  It may have been done, so the claim stays, and what is
// wanted now is said whatever was wanted then: both leave alone what is so already.
void say_again(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  const Reason* reason = reason_to_leave(k.policy, node);
  // One that is gone and has not lapsed: what is right will show by itself.
  if (reason == nullptr && may_stay_out(k.policy, node, k.now)) return;
  if (const TimePoint due = node.unanswered + kSayAgain; k.now < due) {
    decision.wake_at = std::min(decision.wake_at, due);
    return;
  }
  if (reason == nullptr || (!k.policy.act && !node.ours)) return lift(name, node, decision);
  // It may only leave now, long after it was counted: else all that wait for Slurm would leave together.
  const auto held = k.cluster.breaker.held_by_recent(k.policy.breaker, k.cluster.view, name, k.now);
  if (!held.why.empty())
    decision.wake_at = std::min(decision.wake_at, held.until);
  else
    send_out(k, name, node, *reason,
             !k.cluster.breaker.is_counted(k.policy.breaker, k.cluster.view, name, k.now), decision);
}

}  // namespace

Seen seen(const cluster::View& view, const std::string& name, const Node& node) {
  Seen now;
  const cluster::Node* shown = view.node(name);
  if (shown != nullptr) {
    now = {true, shown->drained, shown->down};
    if (shown->look > node.left_look) now.idle = shown->idle, now.boot = shown->boot;
  }
  if (node.drained) now.drained = *node.drained;  // newer than what Slurm has shown
  return now;
}

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& name, TimePoint now, const Heard* heard) {
  Decision decision;
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return decision;
  const Node& node = it->second;
  const Known k{cluster, state, policy, now, heard};

  if (policy.notify) tell_people(node, decision);
  end_reasons(policy, name, node, now, decision);
  if (tend_gate(k, name, node, decision)) return decision;
  if (policy.examine) examine(k, name, node, decision);
  // One order to Slurm at a time: what it shows of the node decides about the next.
  if (node.pending) {
    if (node.unanswered != kNoTime) say_again(k, name, node, decision);
    return decision;
  }
  if (node.ours)
    stay_out_or_return(k, name, node, decision);
  else
    leave_or_stay(k, name, node, decision);
  return decision;
}

std::vector<cluster::Claim> owed(const State& state) {
  std::vector<cluster::Claim> claims;
  for (const std::string& name : state.away) {
    const auto& reasons = state.nodes.at(name).reasons;
    claims.push_back(
        claim_on(name, reasons.empty() ? std::string(kReasonTag) : slurm_reason(reasons.begin()->second)));
  }
  return claims;
}

// What is under way comes before what is, and that before what keeps it from being: the word that an operator
// sees must be the newest that is true.
Standing standing_of(const Known& k, const std::string& name) {
  const auto it = k.state.nodes.find(name);
  if (it == k.state.nodes.end()) return Standing::in;
  const Node& node = it->second;
  if (node.rebooting && node.reboot_failed.empty()) return Standing::rebooting;
  if (node.pending) return node.ours ? Standing::returning : Standing::leaving;
  if (node.ours) return Standing::out;
  if (reason_to_leave(k.policy, node) == nullptr)
    return node.reasons.empty() ? Standing::in : Standing::observed;
  if (!k.policy.act) return Standing::observed;
  if (const Seen now = seen(k.cluster.view, name, node); now.drained || now.down) return Standing::foreign;
  if (!node.refused.empty()) return Standing::refused;
  const cluster::Claim* claim = k.cluster.claims.find(node_subject(name), k.now);
  if (claim != nullptr && claim->holder != kName) return Standing::claimed;
  return k.cluster.breaker.waits(node_subject(name)) ? Standing::waits : Standing::leaving;
}

std::map<std::string, std::int64_t> looked_at(const State& state) {
  // What was shown before a drain says nothing of the node since: it is told of again, also where Slurm shows
  // it just as before (drained, lifted and drained again between two looks).
  std::map<std::string, std::int64_t> nodes;
  // A look that came before the end of the drain is too old as well: who resumes the node right after it
  // would leave it as that look had it, and go unnoticed.
  constexpr std::int64_t kNext = std::numeric_limits<std::int64_t>::max();
  for (const std::string& name : state.away) {
    const Node& node = state.nodes.at(name);
    nodes[name] = node.drained ? kNext : node.left_look;
  }
  return nodes;
}

bool wants_boots(const Policy& policy) { return policy.gate_boot || policy.gate_return; }

bool wants_nodes(const cluster::Cluster& cluster, const State& state, const Policy& policy) {
  if (!state.away.empty()) return true;
  const std::set<std::string>& waiting = cluster.breaker.waiting();
  if (std::any_of(waiting.begin(), waiting.end(),
                  [](const std::string& by) { return !node_of_subject(by).empty(); }))
    return true;
  // A node that is down, or that somebody else drained, is let be; when it is back it would take work with a
  // reason against it, and nothing but a look tells that it is back.
  return policy.act && std::any_of(state.sick.begin(), state.sick.end(), [&](const std::string& name) {
           const Node& node = state.nodes.at(name);
           const Seen now = seen(cluster.view, name, node);
           return (now.drained || now.down || !node.refused.empty()) &&
                  reason_to_leave(policy, node) != nullptr;
         });
}

}  // namespace sickbay::drain
