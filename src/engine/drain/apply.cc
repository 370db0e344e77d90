// SPDX-License-Identifier: Apache-2.0
// apply(): what each kind of event changes.  One function per kind, in one table.
//
// It is also the replay, so it has no policy: what a site may set is asked for by decide() alone, and a
// journal gives the same state under every configuration.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/fnv.h"
#include "base/hostlist.h"
#include "engine/drain/parts.h"
#include "model/finding_action.h"
#include "model/ids.h"
#include "model/verbs.h"

namespace sickbay::drain {
namespace {

// One event on its way through; `touched` are the nodes of which decide() must be asked again.
struct Change {
  State& state;
  const cluster::View& view;
  const Event& event;
  std::vector<std::string> touched;

  Node& touch(const std::string& name) {
    touched.push_back(name);
    return state.nodes[name];
  }
};

// After every change of `ours` or `pending`, and of whether there is such a node.  Kept beside the nodes,
// since the watch asks in every round, and a cluster has thousands.
void set_away(State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it != state.nodes.end() && (it->second.ours || it->second.pending))
    state.away.insert(name);
  else
    state.away.erase(name);
}

// After every event, for all that it touched: whatever changes the reasons of a node touches it.
void set_sick(State& state, const std::string& name) {
  const auto it = state.nodes.find(name);
  if (it != state.nodes.end() && !it->second.reasons.empty())
    state.sick.insert(name);
  else
    state.sick.erase(name);
}

// --- what Slurm shows

// slurmctld acknowledges a drain before it is on its disk, and one that is killed then forgets it (tried
// on 22.05, as doc/design/decisions.md 17 of jobs).  A drain older than slurmctld that is gone at the first
// looks at it was not lifted by a person; one who does that in the same moments has to do it once more.
bool is_forgotten(const cluster::View& view, const Node& node, const cluster::Node& shown, TimePoint now) {
  return !shown.drained && node.drained_at < view.controller_boot && now < view.controller_boot + kFirstLooks;
}

// Numbers of keys are given once (decisions.md 15): a node that Slurm has again goes on counting.
void on_gone(State& state, const std::string& name) {
  state.doors.erase(name);
  state.boot_ids.erase(name);
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return;
  if (it->second.numbers == Node::Numbers{}) {
    state.nodes.erase(it);
  } else {
    Node left;
    left.numbers = it->second.numbers;
    it->second = std::move(left);
  }
  set_away(state, name);
}

// Nodes with which we have nothing to do are in the view, and that is enough.
void see_node(Change& c, const cluster::View::Change& change, const cluster::Node& shown) {
  if (!c.state.nodes.contains(change.name)) return;
  Node& node = c.touch(change.name);
  // Until now our own word may have been newer than Slurm's.
  const bool was_drained = node.drained ? *node.drained : change.before && change.before->drained;
  node.drained.reset();
  // Before the drain is looked at: only both together tell a reboot in vain from somebody's resume.
  const bool slurm_dropped_it = see_boot(node, change.name, shown, !c.event.body["old"].as_bool());
  // We had drained it, Slurm showed it so, and shows it no more: somebody has put it back, knowing more
  // than we do.  The same signs do not drain it again.
  if (node.ours && was_drained && !shown.drained && !node.pending && !slurm_dropped_it &&
      !is_forgotten(c.view, node, shown, c.event.at)) {
    node.ours = node.rebooting = false;
    node.reasons.clear();
    forget_flaps(node, "");
    set_away(c.state, change.name);
  }
  if (!shown.drained) node.refused.clear();  // whatever stood in our way is gone
  if (!node.ours) node.reboot_failed.clear();
}

void on_nodes_seen(Change& c) {
  c.state.gates = c.event.body["boots"].as_bool();
  if (!c.state.gates) c.state.doors.clear();
  for (const cluster::View::Change& change : c.view.changes) {
    if (change.gone) {
      on_gone(c.state, change.name);
      set_sick(c.state, change.name);
      continue;
    }
    const cluster::Node* now = c.view.node(change.name);
    if (now == nullptr) continue;
    const bool ours = c.state.away.contains(change.name);
    see_node(c, change, *now);
    if (c.state.gates && see_door(c.state, change, *now, ours, c.event.at)) c.touch(change.name);
  }
}

void on_agent_seen(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  if (hear_boot(c.state, name, c.event.body["boot_id"].as_string(), c.event.at)) c.touch(name);
}

// --- what agents and cases say

void on_finding(Change& c) {
  const Json& body = c.event.body;
  const std::string rule = rule_of_finding(body);
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
    Json notice = body;
    if (std::string tried = tried_before(node, rule, boot_id); !tried.empty())
      notice.set("escalation", std::move(tried));
    keep_notice(node, c.event.subject, std::move(notice));
  }
  // A node that should be started anew or switched off must leave first.
  if (body["result"].as_string() != "fault" || !takes_node_out(action)) return;
  Node& node = c.touch(name);
  on_finding_at_gate(node);
  for (auto& [source, reason] : node.reasons)
    if (reason.rule == rule) {
      // The same fault again: one reason, by its first finding, so that undo and Slurm's text keep their
      // source.
      reason.gone_at = kNoTime;
      reason.observed = rests(c.state, name, rule, c.event.at);
      reason.action = action;
      reason.boot_id = boot_id;
      return;
    }
  node.reasons[c.event.subject] = {.source = c.event.subject,
                                   .rule = rule,
                                   .action = action,
                                   .text = body["text"].as_string(),
                                   .since = c.event.at,
                                   .observed = rests(c.state, name, rule, c.event.at),
                                   .boot_id = boot_id};
}

void on_verdict(Change& c) {
  const Json& body = c.event.body;
  const auto blame = [&](const std::string& name, const std::string& text) {
    Node& node = c.touch(name);
    const bool is_new =
        node.reasons
            .try_emplace(c.event.subject,
                         Reason{.source = c.event.subject,
                                .rule = std::string(kVerdictRule),
                                .action = "drain",
                                .text = text,
                                .since = c.event.at,
                                .observed = rests(c.state, name, std::string(kVerdictRule), c.event.at),
                                .of_verdict = true})
            .second;
    if (is_new) node.checked_at = kNoTime;  // an older pass says nothing of what this case saw
  };
  // What was found faulty, whatever the cause of the job will be.  A version with one answer meant the nodes
  // that were the cause ("b" on the wire), and a provisional one of its answers could still turn.
  for (const Json& found : body["faulty"].items())
    if (found["drains"].as_bool() && found["peer"].as_string().empty()) {
      const std::string& reason = found["reason"].as_string();
      blame(found["node"].as_string(), found["what"].as_string() + (reason.empty() ? "" : ": " + reason));
    }
  if (!body.has("faulty") && body["final"].as_bool() && body["cause"].as_string() == "b")
    for (const std::string& name : body["nodes"].as_strings()) blame(name, body["sentence"].as_string());
}

// A word for a finding of the fleet that Slurm's reason has room for.
std::string short_name(std::string_view key) { return fmt::format("fleet-{:08x}", fnv32(key)); }

// Nodes that differ from their likes in what the site drains for (engine/fleet): a reason while it is told
// so.
void on_fleet(Change& c) {
  const Json& body = c.event.body;
  const std::string source = short_name(body["key"].as_string());
  std::vector<std::string> meant;
  if (body["severity"].as_string() == "drain")
    if (auto nodes = expand_hostlist(body["nodes"].as_string())) meant = sorted_hosts(std::move(*nodes));
  for (auto& [name, node] : c.state.nodes) {
    const auto reason = node.reasons.find(source);
    if (reason == node.reasons.end() || has_host(meant, name) || reason->second.gone_at != kNoTime) continue;
    reason->second.gone_at = c.event.at;
    c.touched.push_back(name);
  }
  const std::string rule = "fleet/" + body["fact"].as_string();
  for (const std::string& name : meant) {
    Node& node = c.touch(name);
    const auto [reason, is_new] =
        node.reasons.try_emplace(source, Reason{.source = source,
                                                .rule = rule,
                                                .action = "drain",
                                                .text = body["text"].as_string(),
                                                .since = c.event.at,
                                                .observed = rests(c.state, name, rule, c.event.at)});
    if (!is_new) reason->second.gone_at = kNoTime;
  }
}

// What jobs of several users came to on the node (engine/blackhole): a fault of the node, whatever its agent
// says.
void on_black_hole(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  const std::string rule(kBlackHole);
  c.touch(name).reasons.insert_or_assign(std::string(kOfJobs),
                                         Reason{.source = std::string(kOfJobs),
                                                .rule = rule,
                                                .action = "drain",
                                                .text = c.event.body["sentence"].as_string(),
                                                .since = c.event.at,
                                                .observed = rests(c.state, name, rule, c.event.at)});
}
void on_black_hole_over(Change& c) {
  const auto it = c.state.nodes.find(std::string(node_of_subject(c.event.subject)));
  if (it == c.state.nodes.end()) return;
  const auto reason = it->second.reasons.find(std::string(kOfJobs));
  if (reason == it->second.reasons.end()) return;
  if (reason->second.gone_at == kNoTime) reason->second.gone_at = c.event.at;
  c.touch(it->first);
}

// A recovery wants the node restarted as a whole, or, for a part of its hardware, out of service
// (engine/recover).
void on_leave_wanted(Change& c) {
  const Json& body = c.event.body;
  const std::string rule(kRecoveryRule);
  const std::string& name = body["node"].as_string();
  c.touch(name).reasons.try_emplace(c.event.subject,
                                    Reason{.source = c.event.subject,
                                           .rule = rule,
                                           .action = body["action"].as_string(),
                                           .text = body["text"].as_string(),
                                           .since = c.event.at,
                                           .observed = rests(c.state, name, rule, c.event.at)});
}
// What it gave up stays out, until a person has looked.
void on_recovery_closed(Change& c) {
  if (c.event.body["outcome"].as_string() == "given_up") return;
  for (auto& [name, node] : c.state.nodes) {
    const auto reason = node.reasons.find(c.event.subject);
    if (reason == node.reasons.end() || reason->second.gone_at != kNoTime) continue;
    reason->second.gone_at = c.event.at;
    c.touched.push_back(name);
  }
}

// --- our own commands

void on_intent(Change& c) {
  const std::string& did = c.event.body["verb"].as_string();
  // Gone with the intent: the ledger has it from here on, also through a crash.
  if (did == verb::kNotify) {
    const std::string& key = c.event.body["key"].as_string();
    c.state.nodes[c.event.body["args"]["finding"]["node"].as_string()].notices.erase(
        key.substr(0, key.rfind(kNotifyEnd)));
    return;
  }
  const std::string name(node_of_subject(c.event.subject));
  if (name.empty()) return;
  Node& node = c.state.nodes[name];
  node.change = ++c.state.changes;  // (decide() need not be asked again)
  if (did == verb::kDrain) {
    ++node.numbers.drains;
    node.pending = true;
    node.unanswered = kNoTime;
    node.refused.clear();
    const std::string& reason = c.event.body["args"]["reason"].as_string();
    node.said = is_of_gate(reason) ? reason : "";
    if (!node.ours) note_leaving(node, reason);
    // What Slurm showed before the drain is no ground for a reboot: jobs may have started since.
    node.left_look = c.view.looks;
    if (!node.ours) {  // (else Slurm had dropped our drain)
      node.rebooting = false;
      node.reboot_failed.clear();
    }
  } else if (did == verb::kUndrain) {
    ++node.numbers.lifts;
    node.pending = true;
    node.unanswered = kNoTime;
  } else if (did == verb::kReboot) {
    on_reboot_intent(node, c.event);
  } else if (did == verb::kDiagnose && is_gate_check(c.event.body["key"].as_string())) {
    ++node.numbers.gates;
    node.gate.checking = true;
  } else if (did == verb::kDiagnose) {
    ++node.numbers.checks;
    node.checking = true;
  }
  set_away(c.state, name);
}

void on_end(Change& c) {
  const std::string& did = c.event.body["verb"].as_string();
  const std::string name(node_of_subject(c.event.subject));
  const bool done = c.event.kind == kDone;
  Node& node = c.touch(name);
  const bool unanswered =
      !done && passes_by_itself(error_code_from(c.event.body["error"]["code"].as_string()));
  if ((did == verb::kDrain || did == verb::kUndrain) && unanswered) {
    // Nobody said no, and what it did nobody knows: decide() says what is wanted then, later.
    node.unanswered = c.event.at;
  } else if (did == verb::kDrain) {
    node.pending = false;
    // A drain that Slurm had dropped keeps the time at which the node left.
    if (!node.ours) node.drained_at = c.event.at;
    if (done && !node.ours) note_left(node, c.event.at);
    node.ours = done;
    // Not only when Slurm shows it: till then it would look as if Slurm had dropped our drain, and we would
    // set it twice.
    if (done) node.drained = true;
    if (!done) node.refused = c.event.body["error"]["what"].as_string();
  } else if (did == verb::kUndrain) {
    node.pending = false;
    node.ours = false;  // also where it was refused: the drain is somebody else's then (decisions.md 24)
    node.rebooting = false;
    node.reboot_failed.clear();
    note_back(node);
    if (done) node.drained = false;
  } else if (did == verb::kReboot) {
    on_reboot_end(node, name, c.event);
  } else if (did == verb::kDiagnose && is_gate_check(c.event.body["key"].as_string())) {
    on_gate_check(c.state, name, node, c.event);
  } else if (did == verb::kDiagnose) {
    // A diagnosis that could not be made ends as well: it is asked for again after check_every.
    node.checking = false;
    node.checked_at = c.event.at;
    if (done && c.event.body["result"]["passed"].as_bool())
      for (auto& [source, reason] : node.reasons)
        if (reason.of_verdict) reason.gone_at = c.event.at;
  }
  set_away(c.state, name);
}

void on_reason_ended(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  Node& node = c.touch(name);
  node.reasons.erase(c.event.body["source"].as_string());
  if (c.event.body["unexamined"].as_bool()) node.let_in = c.event.at;
}

void on_overdue(Change& c) {
  const std::string name(node_of_subject(c.event.subject));
  on_reboot_overdue(c.touch(name), name, c.event);
}

// --- undo

// Whether undo_drains means the node.
bool is_meant(const Result<std::vector<std::string>>& wanted, const std::string& name) {
  return !wanted || wanted->empty() || std::find(wanted->begin(), wanted->end(), name) != wanted->end();
}

// Drops reasons; decide() then finds nothing that keeps the nodes out.  No drain is forgotten here, else
// nobody would lift it.
void on_undo(Change& c) {
  const auto wanted = expand_hostlist(c.event.body["nodes"].as_string());
  const std::string& rule = c.event.body["rule"].as_string();
  const TimePoint until = from_micros(c.event.body["rest_until"].as_int());
  // (Without a word of it, as older versions wrote it, the rule rests everywhere.)
  const bool there_alone = c.event.body["rest"].as_string() == kRestOnNodes;
  for (auto& [node_name, node] : c.state.nodes) {
    const std::string& name = node_name;  // (GCC 12's lambdas do not take structured bindings along)
    if (!is_meant(wanted, name)) continue;
    const std::size_t before = node.reasons.size();
    forget_flaps(node, rule);
    std::erase_if(node.reasons, [&](const auto& entry) {
      if (!rule.empty() && entry.second.rule != rule) return false;
      (there_alone ? c.state.resting_on[name] : c.state.resting)[entry.second.rule] = until;
      return true;
    });
    if (node.reasons.size() != before || node.ours) c.touched.push_back(name);
  }
}

struct Row {
  std::string_view kind;
  void (*apply)(Change&);
};
constexpr auto kRows = std::to_array<Row>({
    {kNodesSeen, on_nodes_seen},
    {kFinding, on_finding},
    {kAgentSeen, on_agent_seen},
    {kVerdict, on_verdict},
    {kPatrolBlames, on_verdict},  // V fails there, outside of any case: the same word against the node
    {kFleetOdd, on_fleet},
    {kReasonEnded, on_reason_ended},
    {kOverdue, on_overdue},
    {kUndoDrains, on_undo},
    {kBlackHole, on_black_hole},
    {kBlackHoleOver, on_black_hole_over},
    {kLeaveWanted, on_leave_wanted},
    {kRecoveryClosed, on_recovery_closed},
});

}  // namespace

bool rests(const State& state, const std::string& name, const std::string& rule, TimePoint now) {
  // Whoever took back what a rule did thinks that the rule is wrong.
  const auto rests_in = [&](const std::map<std::string, TimePoint>& resting) {
    const auto it = resting.find(rule);
    return it != resting.end() && now < it->second;
  };
  const auto on = state.resting_on.find(name);
  return rests_in(state.resting) || (on != state.resting_on.end() && rests_in(on->second));
}

void keep_notice(Node& node, const std::string& key, Json finding) {
  // By the numbers of findings, "f9:b1" like "f9": as texts f10 would come before f9.
  const auto number = [](const auto& entry) {
    return parse_finding_name(entry.first.substr(0, entry.first.find(':'))).value_or(0);
  };
  node.notices[key] = std::move(finding);
  while (node.notices.size() > kMostNotices)
    node.notices.erase(std::ranges::min_element(node.notices, {}, number));
}

std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event) {
  Change change{state, view, event, {}};
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
  for (const std::string& name : change.touched) {
    set_sick(state, name);
    if (const auto it = state.nodes.find(name); it != state.nodes.end()) it->second.change = ++state.changes;
  }
  return std::move(change.touched);
}

// A version without claims told the breaker nothing: it had the engine's own state to look at.
void raise(const State& state, Event& event) {
  if (event.kind == kIntent && event.v < kIntentVersion) {
    const std::string& did = event.body["verb"].as_string();
    const std::string name(node_of_subject(event.subject));
    const auto node = state.nodes.find(name);
    const bool ours = node != state.nodes.end() && node->second.ours;
    if ((did == verb::kDrain && !ours) || (did == verb::kReboot && !event.body["args"]["counted"].as_bool()))
      event.body.set("draws", Json::array({name}));
    event.v = kIntentVersion;
  } else if (event.kind == kNodesSeen && event.v < kNodesSeenVersion) {
    std::set<std::string> ours = state.away;
    // Also one that we set, could not lift, and did not see yet: it was counted with its intent.
    for (const auto& [name, node] : state.nodes)
      if (node.drained && *node.drained) ours.insert(name);
    if (!ours.empty()) event.body.set("ours", std::vector<std::string>(ours.begin(), ours.end()));
    event.body.set("old", true);  // what it shows is history: nobody is told of it any more
    event.v = kNodesSeenVersion;
  } else if (event.kind == kUndoDrains && event.v < kUndoDrainsVersion) {
    // It also told nobody that a node waits no more.
    const auto wanted = expand_hostlist(event.body["nodes"].as_string());
    const std::string& rule = event.body["rule"].as_string();
    std::vector<std::string> freed;
    for (const auto& [name, node] : state.nodes)
      if (is_meant(wanted, name) &&
          std::all_of(node.reasons.begin(), node.reasons.end(),
                      [&](const auto& entry) { return rule.empty() || entry.second.rule == rule; }))
        freed.push_back(node_subject(name));
    event.body.set("no_longer_wait", freed);
    event.v = kUndoDrainsVersion;
  }
}

}  // namespace sickbay::drain
