// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event changes.  One function per kind, in one table.
//
// It is also the replay, so it has no policy: what a site may set is asked for by decide() alone, and a
// journal gives the same state under every configuration.
#include <algorithm>
#include <array>

#include "base/hostlist.h"
#include "base/text.h"
#include "engine/drain/parts.h"
#include "model/ids.h"

namespace sickbay::drain {
namespace {

// One event on its way through; `touched` are the nodes of which decide() must be asked again.
struct Change {
  State& state;
  const Event& event;
  std::vector<std::string> touched;

  Node& touch(const std::string& name) {
    touched.push_back(name);
    return state.nodes[name];
  }
  // Who waits for the breaker may go on when anything was counted or given back.
  void touch_waiting() { touched.insert(touched.end(), state.waiting.begin(), state.waiting.end()); }
};

// After every change of `ours` or `pending`, and of whether there is such a node.  Kept beside the nodes,
// since the breaker counts them for each node that would leave, and a cluster has thousands.
void set_away(State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it != state.nodes.end() && (it->second.ours || it->second.pending))
    state.away.insert(name);
  else
    state.away.erase(name);
}

// --- what Slurm shows

// Slurm's text is "IDLE+DRAIN", "DRAINING", "DRAINED" or "DOWN+DRAIN".
bool shows_drain(std::string_view state_text) { return state_text.find("DRAIN") != std::string_view::npos; }

// Partitions know their nodes, too: the shares of the breaker are reckoned from their number.
void set_partitions(State& state, const std::string& name, Node& node, std::vector<std::string> now) {
  if (node.partitions == now) return;
  for (const std::string& p : node.partitions) state.partitions[p].nodes.erase(name);
  for (const std::string& p : now) state.partitions[p].nodes.insert(name);
  node.partitions = std::move(now);
}

void on_nodes_seen(Change& c) {
  for (const Json& group : c.event.body["groups"].items()) {
    auto names = expand_hostlist(group["nodes"].as_string());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (group["gone"].as_bool()) {
        if (auto it = c.state.nodes.find(name); it != c.state.nodes.end()) {
          set_partitions(c.state, name, it->second, {});
          // Numbers of keys are given once (decisions.md 15): a node that Slurm has again goes on counting.
          if (it->second.numbers == Node::Numbers{}) {
            c.state.nodes.erase(it);
          } else {
            Node left;
            left.numbers = it->second.numbers;
            it->second = std::move(left);
          }
          c.state.waiting.erase(name);
          set_away(c.state, name);
        }
        continue;
      }
      Node& node = c.touch(name);
      set_partitions(c.state, name, node, group["partitions"].as_strings());
      const bool drained = shows_drain(group["state"].as_string());
      // Before `drained` is changed: only both together tell a reboot in vain from somebody's resume.
      const bool slurm_dropped_it = see_boot(node, name, group, drained);
      // Drained by somebody else: the breaker counts it, and lets it be.  One that was so when we first saw
      // it has not left lately, as far as we know.
      if (node.seen && drained && !node.drained && !node.ours && !node.pending)
        note_leaving(c.state, name, node, c.event.at);
      // We had drained it, Slurm showed it so, and shows it no more: somebody has put it back, knowing more
      // than we do.  The same signs do not drain it again.
      if (node.ours && node.drained && !drained && !node.pending && !slurm_dropped_it) {
        node.ours = node.rebooting = false;
        node.reasons.clear();
        set_away(c.state, name);
      }
      if (!drained) node.refused.clear();  // whatever stood in our way is gone
      if (!node.ours) node.reboot_failed.clear();
      node.drained = drained;
      node.down = group["down"].as_bool();
      node.seen = true;
    }
  }
  c.touch_waiting();
}

// --- what agents and cases say

bool rests(const State& state, const std::string& rule, TimePoint now) {
  // Whoever took back what a rule did thinks that the rule is wrong.
  const auto it = state.resting.find(rule);
  return it != state.resting.end() && now < it->second;
}

std::string rule_of(const Json& finding) {
  return finding["specification"].as_string() + "/" + finding["rule"].as_string();
}

void on_finding(Change& c) {
  const Json& body = c.event.body;
  const std::string rule = rule_of(body);
  const std::string& name = body["node"].as_string();
  if (body["late"].as_bool()) return;  // history, never a cause to act (decisions.md 14)
  if (body["result"].as_string() == "ok") {
    const auto it = c.state.nodes.find(name);
    if (it == c.state.nodes.end()) return;
    // Not erased: it has to stay gone for a while (decide.cc).  Our stamp, for agents' clocks are data only.
    for (auto& [source, reason] : it->second.reasons)
      if (reason.rule == rule && reason.gone_at == kNoTime) reason.gone_at = c.event.at;
    c.touch(name);
    return;
  }
  const std::string& action = body["action"].as_string();
  const std::string& boot_id = body["boot_id"].as_string();
  // People are told of every fault that asks for something, also where it takes no node out.
  if (body["result"].as_string() == "fault" && action != "none") {
    Node& node = c.touch(name);
    Json& notice = node.notices[c.event.subject] = body;
    if (std::string tried = tried_before(node, rule, boot_id); !tried.empty())
      notice.set("escalation", std::move(tried));
  }
  // A node that should be started anew or switched off must leave first.
  const bool out = action == "drain" || action == "reboot" || action == "power_off";
  if (body["result"].as_string() != "fault" || !out) return;
  Node& node = c.touch(name);
  for (auto& [source, reason] : node.reasons)
    if (reason.rule == rule) {
      // The same fault again: one reason, by its first finding, so that undo and Slurm's text keep their
      // source.
      reason.gone_at = kNoTime;
      reason.observed = rests(c.state, rule, c.event.at);
      reason.action = action;
      reason.boot_id = boot_id;
      return;
    }
  node.reasons[c.event.subject] = {.source = c.event.subject,
                                   .rule = rule,
                                   .action = action,
                                   .text = body["text"].as_string(),
                                   .since = c.event.at,
                                   .observed = rests(c.state, rule, c.event.at),
                                   .boot_id = boot_id};
}

void on_verdict(Change& c) {
  const Json& body = c.event.body;
  // Only what is final and blames nodes ("b" on the wire): a provisional verdict may still turn.
  if (!body["final"].as_bool() || body["cause"].as_string() != "b") return;
  for (const std::string& name : body["nodes"].as_strings()) {
    Node& node = c.touch(name);
    node.reasons.try_emplace(c.event.subject,
                             Reason{.source = c.event.subject,
                                    .rule = std::string(kVerdictRule),
                                    .action = "drain",
                                    .text = body["sentence"].as_string(),
                                    .since = c.event.at,
                                    .observed = rests(c.state, std::string(kVerdictRule), c.event.at),
                                    .of_verdict = true});
    node.checked_at = kNoTime;  // an older pass says nothing of what this case saw
  }
}

// --- our own commands

// From the intent on the state says that the command is under way, also after a crash: decide() must not give
// the next number, and with it a second command, for the same thing.
void on_intent(Change& c) {
  const std::string& verb = c.event.body["verb"].as_string();
  // Gone with the intent: the ledger has it from here on, also through a crash.
  if (verb == "notify") {
    const std::string& key = c.event.body["key"].as_string();
    c.state.nodes[c.event.body["args"]["finding"]["node"].as_string()].notices.erase(
        key.substr(0, key.rfind(kNotifyEnd)));
    return;
  }
  const std::string name(node_of_subject(c.event.subject));
  if (name.empty()) return;
  Node& node = c.state.nodes[name];
  if (verb == "drain") {
    ++node.numbers.drains;
    node.pending = true;
    node.refused.clear();
    // What Slurm showed before the drain is no ground for a reboot: jobs may have started since.
    node.idle = false;
    node.boot = kNoTime;
    c.state.waiting.erase(name);
    if (!node.ours) {  // (else Slurm had dropped our drain)
      note_leaving(c.state, name, node, c.event.at);
      node.rebooting = false;
      node.reboot_failed.clear();
    }
  } else if (verb == "undrain") {
    ++node.numbers.lifts;
    node.pending = true;
  } else if (verb == "reboot") {
    on_reboot_intent(c.state, name, node, c.event);
  } else if (verb == "diagnose") {
    ++node.numbers.checks;
    node.checking = true;
  }
  set_away(c.state, name);
}

void on_end(Change& c) {
  const std::string& verb = c.event.body["verb"].as_string();
  const std::string name(node_of_subject(c.event.subject));
  const bool done = c.event.kind == kDone;
  Node& node = c.touch(name);
  if (verb == "drain") {
    node.pending = false;
    // A drain that Slurm had dropped keeps the time at which the node left.
    if (!node.ours) node.drained_at = c.event.at;
    node.ours = done;
    // Not only when Slurm shows it: till then it would look as if Slurm had dropped our drain, and we would
    // set it twice.
    if (done) node.drained = true;
    if (!done) node.refused = c.event.body["error"]["what"].as_string();
  } else if (verb == "undrain") {
    node.pending = false;
    node.ours = false;  // also where it was refused: the drain is somebody else's then (decisions.md 24)
    node.rebooting = false;
    node.reboot_failed.clear();
    if (done) node.drained = false;
    c.touch_waiting();
  } else if (verb == "reboot") {
    on_reboot_end(node, name, c.event);
  } else if (verb == "diagnose") {
    // A diagnosis that could not be made ends as well: it is asked for again after check_every.
    node.checking = false;
    node.checked_at = c.event.at;
    if (done && c.event.body["result"]["passed"].as_bool())
      for (auto& [source, reason] : node.reasons)
        if (reason.of_verdict) reason.gone_at = c.event.at;
  }
  set_away(c.state, name);
}

// The node is looked at again: without this reason it may go back.
void on_reason_ended(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  c.touch(name).reasons.erase(c.event.body["source"].as_string());
}

void on_overdue(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  on_reboot_overdue(c.touch(name), name, c.event);
}

// --- breaker and undo

void on_tripped(Change& c) {
  c.state.partitions[c.event.body["partition"].as_string()].tripped = true;
  c.state.waiting.insert(c.event.body["node"].as_string());
}

// Who waits is not taken off the list here: each leaves it with its own drain.
void on_reset(Change& c) { c.state.partitions[c.event.body["partition"].as_string()].tripped = false; }

// Drops reasons; decide() then finds nothing that keeps the nodes out.  No drain is forgotten here, else
// nobody would lift it.
void on_undo(Change& c) {
  const auto wanted = expand_hostlist(c.event.body["nodes"].as_string());
  const std::string& rule = c.event.body["rule"].as_string();
  for (auto& [name, node] : c.state.nodes) {
    if (wanted && !wanted->empty() && std::find(wanted->begin(), wanted->end(), name) == wanted->end())
      continue;
    const std::size_t before = node.reasons.size();
    std::erase_if(node.reasons, [&](const auto& entry) {
      if (!rule.empty() && entry.second.rule != rule) return false;
      c.state.resting[entry.second.rule] = from_micros(c.event.body["rest_until"].as_int());
      return true;
    });
    if (node.reasons.size() != before || node.ours) c.touched.push_back(name);
    if (node.reasons.empty()) c.state.waiting.erase(name);
  }
}

struct Row {
  std::string_view kind;
  void (*apply)(Change&);
};
constexpr auto kRows = std::to_array<Row>({
    {"nodes_seen", on_nodes_seen},
    {kFinding, on_finding},
    // By its name in the journal: engines do not include each other (decisions.md 27).
    {"verdict", on_verdict},
    {kReasonEnded, on_reason_ended},
    {kOverdue, on_overdue},
    {kBreakerTripped, on_tripped},
    {kBreakerReset, on_reset},
    {kUndoDrains, on_undo},
});

}  // namespace

void note_leaving(State& state, const std::string& name, const Node& node, TimePoint at) {
  for (const std::string& partition : node.partitions) {
    auto& left = state.partitions[partition].left;
    // Bounded by the longest window that a site may set, since its own is not known here.
    while (!left.empty() && left.front().first < at - kLongestWindow) left.pop_front();
    left.emplace_back(at, name);
  }
}

std::vector<std::string> apply(State& state, const Event& event) {
  Change change{state, event, {}};
  if (event.kind == kIntent || event.kind == kDone || event.kind == kFailed) {
    // All engines' commands come by: notify has a finding for its subject, so intents go by their verb.
    if (event.kind == kIntent)
      on_intent(change);
    else if (!node_of_subject(event.subject).empty())
      on_end(change);
  } else {
    for (const Row& row : kRows)
      if (row.kind == event.kind) row.apply(change);
  }
  return std::move(change.touched);
}

}  // namespace sickbay::drain
