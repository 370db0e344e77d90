// SPDX-License-Identifier: Apache-2.0
// Gates: a node that boots, or that somebody else puts back, is kept from jobs until it has been examined.
//
// A gate is one more reason for which a node is out (source and rule "gate"), so that the breaker, claims,
// observing, undo and the drains of other people mean for it what they mean for all reasons.  It differs in
// how it ends: at once, when a quick diagnosis has passed; where that finds what takes a node out, the
// finding's own reason stands in its place; where nobody examines the node, the site says whether it is let
// in.  What we put back ourselves needs none, and neither does a node of ours that somebody resumes: he knows
// more than we do, and nobody argues with him.
//
// A boot is told by two who need not agree: the agent's boot id, and Slurm's boot time.  Whichever comes
// first shuts the gate, and the other is no second boot when it is of before the examination.  Whether the
// site wants gates at all is policy, which apply() does not know: it goes by `boots` of nodes_seen, which is
// there while somebody wishes to be told of boots (Wish::boots).  Source: doc/design/diagnose.md, "Gates".
#include <fmt/format.h>

#include <algorithm>

#include "engine/drain/parts.h"
#include "model/ids.h"
#include "model/job.h"
#include "model/verbs.h"

namespace sickbay::drain {
namespace {

// A node that passed so lately is not examined again because it is put back: after a boot both come together.
constexpr std::chrono::minutes kFresh{5};
// An examination that said nothing is tried again after this.
constexpr std::chrono::minutes kTryAgain{1};
// What an examination found comes as a finding as well, by another way.  Until then the text in Slurm stays.
constexpr std::chrono::minutes kFindingComes{1};

constexpr char kLetter = 'q';  // in the keys of its examinations

const Reason* gate_of(const Node& node) {
  const auto it = node.reasons.find(std::string(kGate));
  return it == node.reasons.end() ? nullptr : &it->second;
}

void shut(State& state, const std::string& name, bool booted, TimePoint at) {
  Node& node = state.nodes[name];
  const bool is_new = gate_of(node) == nullptr;
  Reason& reason = node.reasons[std::string(kGate)];
  const bool checking = node.gate.checking;  // (under way since before: it is waited for, not asked twice)
  if (is_new) node.gate = {};
  (booted ? node.gate.booted : node.gate.returned) = true;
  node.gate.checking = checking;
  node.gate.sick = false;
  node.gate.tried_at = kNoTime;
  node.let_in = kNoTime;
  reason.source = kGate;
  reason.rule = kGate;
  reason.action = "drain";
  reason.text = node.gate.booted ? "it has booted, and waits for its quick diagnosis"
                                 : "it was put back, and waits for its quick diagnosis";
  reason.since = at;
  reason.observed = rests(state, name, std::string(kGate), at);
}

// Ours are out for a reason that ends by an examination anyhow; a gate that is open already is not.
bool may_shut(const State& state, const std::string& name, bool ours) {
  const auto it = state.nodes.find(name);
  return !ours || it == state.nodes.end() || it->second.reasons.empty() || gate_of(it->second) != nullptr;
}

bool is_asked_for(const Policy& policy, const Node& node) {
  return (node.gate.booted && policy.gate_boot) || (node.gate.returned && policy.gate_return);
}

Event ended(const std::string& name, std::string why, bool unexamined) {
  Json body = Json::object({{"source", kGate}, {"why", std::move(why)}});
  if (unexamined) body.set("unexamined", true);
  return new_event(node_subject(name), kReasonEnded, std::move(body));
}

}  // namespace

bool see_door(State& state, const cluster::View::Change& change, const cluster::Node& shown, bool ours,
              TimePoint at) {
  const std::string& name = change.name;
  Door& door = state.doors[name];
  bool is_shut = false;
  const TimePoint before = door.boot != kNoTime ? door.boot : change.before ? change.before->boot : kNoTime;
  // (Slurm tells no boot time while it has not heard of the node.)
  if (shown.boot != kNoTime && (before == kNoTime || booted_since(shown.boot, before))) {
    door.boot = shown.boot;
    if (before != kNoTime && shown.boot > door.passed_at && may_shut(state, name, ours)) {
      shut(state, name, true, at);
      is_shut = true;
    }
  }
  if (ours) {
    door.out = false;
  } else if (shown.drained || shown.down) {
    door.out = true;
  } else if (door.out && !shown.silent()) {
    door.out = false;
    if (door.passed_at == kNoTime || at > door.passed_at + kFresh) {
      shut(state, name, false, at);
      is_shut = true;
    }
  }
  return is_shut;
}

bool hear_boot(State& state, const std::string& name, const std::string& boot_id, TimePoint at) {
  if (boot_id.empty()) return false;  // as older versions kept it
  const std::string before = std::exchange(state.boot_ids[name], boot_id);
  if (!state.gates || before.empty() || before == boot_id) return false;
  const auto it = state.nodes.find(name);
  const bool ours = it != state.nodes.end() && (it->second.ours || it->second.pending);
  if (!may_shut(state, name, ours)) return false;
  state.doors[name].passed_at = kNoTime;  // what it passed was another boot's
  shut(state, name, true, at);
  return true;
}

bool is_gate_check(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot != std::string_view::npos && dot + 1 < key.size() && key[dot + 1] == kLetter;
}

void on_gate_check(State& state, const std::string& name, Node& node, const Event& event) {
  node.gate.checking = false;
  const Json& result = event.body["result"];
  const bool whole = event.kind == kDone && result["whole"].as_bool(result["passed"].as_bool());
  node.gate.tried_at = event.at;
  if (!whole) return;
  const bool sick = result["drains"].as_int() > 0;
  if (!sick) {
    state.doors[name].passed_at = event.at;
    node.let_in = kNoTime;
  }
  const auto gate = node.reasons.find(std::string(kGate));
  if (gate == node.reasons.end()) return;
  node.gate.sick = sick;
  // A rule that rests was taken back by somebody: what it found then keeps nobody out.
  const bool is_told = std::any_of(node.reasons.begin(), node.reasons.end(), [](const auto& entry) {
    return entry.first != kGate && !entry.second.of_verdict && entry.second.gone_at == kNoTime;
  });
  if (!sick || is_told)
    node.reasons.erase(gate);
  else
    gate->second.text = result["sick"].as_string();
}

void on_finding_at_gate(Node& node) {
  if (gate_of(node) != nullptr && node.gate.sick) node.reasons.erase(std::string(kGate));
}

bool tend_gate(const Known& k, const std::string& name, const Node& node, Decision& decision) {
  const Reason* gate = gate_of(node);
  if (gate == nullptr) return false;
  if (!is_asked_for(k.policy, node)) {
    decision.records.push_back(ended(name, "no gate is asked for", false));
    return true;
  }
  const TimePoint until = k.policy.examine ? gate->since + k.policy.gate_wait : gate->since;
  const bool waits = !node.gate.sick && (!k.policy.gate_keep || !k.policy.examine);
  if (waits && k.now >= until) {
    decision.records.push_back(
        ended(name,
              k.policy.examine
                  ? fmt::format("its agent has not examined it within {} s", k.policy.gate_wait.count())
                  : std::string("agents are not listened to here"),
              true));
    return true;
  }
  if (waits) decision.wake_at = std::min(decision.wake_at, until);
  if (node.gate.checking) return false;
  TimePoint due = k.now;
  if (node.gate.tried_at != kNoTime)
    due = node.gate.tried_at +
          (node.gate.sick || k.now > until ? k.policy.check_every : std::chrono::seconds(kTryAgain));
  if (k.now >= due)
    decision.commands.push_back(command(name, verb::kDiagnose, kLetter, node.numbers.gates + 1,
                                        Json::object({{"node", name}, {"mode", "quick"}})));
  else
    decision.wake_at = std::min(decision.wake_at, due);
  return false;
}

// Only a drain that was said for a gate gets another text: any other keeps the oldest reason that it had.
bool says_too_little(const Known& k, const Node& node, const Reason& reason, Decision& decision) {
  if (node.said.empty() || node.said == slurm_reason(reason)) return false;
  if (reason.source != kGate) return true;
  if (!node.gate.sick) return false;
  const TimePoint due = node.gate.tried_at + kFindingComes;
  if (k.now >= due) return true;
  decision.wake_at = std::min(decision.wake_at, due);
  return false;
}

bool is_of_gate(std::string_view reason) {
  return reason.starts_with(fmt::format("{}{} ", kReasonTag, kGate));
}

std::string gate_text(const Known& k, const std::string& name) {
  const auto it = k.state.nodes.find(name);
  if (it == k.state.nodes.end()) return "";
  const Node& node = it->second;
  if (gate_of(node) == nullptr)
    return node.let_in == kNoTime ? ""
                                  : fmt::format("let in {} without an examination: its agent did not answer",
                                                ago(node.let_in, k.now));
  if (node.gate.sick) return "examined again until it is well";
  if (node.gate.tried_at != kNoTime || k.now > gate_of(node)->since + k.policy.gate_wait)
    return k.policy.gate_keep ? "kept out, for its agent has not examined it: ask it, or undo the drain"
                              : "let in soon, examined or not: its agent does not answer";
  return "let in when its quick diagnosis has passed";
}

std::string canonical_gates(const State& state) {
  std::string text;
  if (state.gates) text += "gates\n";
  for (const auto& [name, id] : state.boot_ids) text += fmt::format("boot id of {} {}\n", name, id);
  for (const auto& [name, door] : state.doors)
    text +=
        fmt::format("door {} {} {} {}\n", name, to_micros(door.boot), door.out, to_micros(door.passed_at));
  for (const auto& [name, node] : state.nodes)
    if (gate_of(node) != nullptr || node.numbers.gates > 0)
      text += fmt::format("gate {} {}{}{}{} {} {} {} {}\n", name, node.gate.booted, node.gate.returned,
                          node.gate.checking, node.gate.sick, to_micros(node.gate.tried_at),
                          node.numbers.gates, to_micros(node.let_in), node.said);
  return text;
}

}  // namespace sickbay::drain
