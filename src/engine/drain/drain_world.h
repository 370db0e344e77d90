// SPDX-License-Identifier: Apache-2.0
// A cluster for the tests of the drain engine, driven by events alone.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "engine/drain/drain.h"
#include "engine/drain/parts.h"
#include "model/ids.h"

namespace sickbay::drain {

using namespace std::chrono_literals;

// A cluster that answers: intents become done, and what is drained shows as drained.
struct World {
  cluster::Cluster cluster;
  State state;
  Policy policy;
  TimePoint now = from_unix_seconds(1'800'000'000);
  std::int64_t seq = 0;
  std::vector<Event> log;
  std::vector<std::string> did;                 // "drain n3", in order
  std::map<std::string, std::string> refusals;  // "drain n3" -> why it fails
  std::set<std::string> silent;                 // "drain n3": Slurm is away and gives no answer
  int silent_every = 0;                         // one command in so many, beside those; 0: none
  bool takes_effect_silently = false;           // and yet it does what it was told
  int commands = 0;
  bool check_passes = false;
  Json check_result;                    // of a diagnosis, where it says more than that
  std::map<std::string, Command> held;  // "diagnose n3", by name alone until begun: it has no answer yet
  std::set<std::string> holds;
  bool gates = false;  // boots of all nodes are told
  std::string shown_when_drained = "IDLE+DRAIN", shown_when_lifted = "IDLE", boot_id = "boot 0";
  TimePoint boot = from_unix_seconds(1'700'000'000);  // of all nodes
  std::vector<TimePoint> left;                        // moments at which a node was taken away
  std::vector<Json> told;                             // what the verb notify got
  TimePoint wake_at = kNever;
  std::set<std::string> touched, intended;
  bool asking = false;

  World() { policy.act = policy.examine = true; }

  void say(std::string subject, std::string_view kind, Json body) {
    Event event;
    event.seq = ++seq;
    event.at = now;
    event.subject = std::move(subject);
    event.kind = kind;
    event.body = std::move(body);
    event.v = 2;
    take(event);
  }
  // As the controller does it: facts first, then the engine until it is at rest, then the effects of one
  // round.
  void take(const Event& event) {
    log.push_back(event);
    if (event.kind == kIntent) note_leaving(event.body, event.at);
    Event raised = event;
    raise(state, raised);
    cluster::apply(cluster, raised);
    for (std::string& node : apply(state, cluster.view, raised)) touched.insert(std::move(node));
    for (const std::string& by : cluster.breaker.waiting()) touched.insert(std::string(node_of_subject(by)));
    std::set<std::string> away, sick, kept;  // by a walk over all nodes, after every event of every test
    for (const auto& [name, node] : state.nodes) {
      if (node.ours || node.pending) away.insert(name);
      if (!node.reasons.empty()) sick.insert(name);
      const Seen now_seen = seen(cluster.view, name, node);
      const bool stays = now_seen.drained || now_seen.down || !node.refused.empty();
      for (const auto& [source, reason] : node.reasons)
        if (stays && policy.act && counts(policy, reason) &&
            (reason.gone_at == kNoTime || is_kept(policy, node, reason)))
          kept.insert(name);
    }
    EXPECT_EQ(state.away, away) << event.text();
    EXPECT_EQ(state.sick, sick) << event.text();
    EXPECT_EQ(wants_nodes(cluster, state, policy),
              !away.empty() || !kept.empty() || !cluster.breaker.waiting().empty());
    // What leaves has a claim on it from before its drain.
    for (const std::string& name : away) EXPECT_TRUE(cluster.claims.out().contains(name)) << event.text();
    if (!asking) settle();
  }
  // What the breaker must count: drains, but not those that Slurm dropped and we set again, and reboots that
  // come long after their drain.
  void note_leaving(const Json& intent, TimePoint at) {
    const std::string& verb = intent["verb"].as_string();
    const Node& node = state.nodes[intent["args"]["node"].as_string()];
    // One that is said again leaves once, or, when its window has passed, anew.
    const bool again = node.ours || node.pending;
    if (verb == "drain" ? !again || intent["draws"].size() > 0
                        : verb == "reboot" && !intent["args"]["counted"].as_bool())
      left.push_back(at);
  }
  void settle() {
    asking = true;
    std::vector<Command> todo;
    while (!touched.empty()) {
      const std::string node = *touched.begin();
      touched.erase(touched.begin());
      Decision decision = decide(cluster, state, policy, node, now);
      if (claim(decision)) decision = decide(cluster, state, policy, node, now);
      for (const Event& record : decision.records) say(record.subject, record.kind, record.body);
      for (const Command& command : decision.commands)
        if (intended.insert(command.key).second) {
          say(command.subject, kIntent,
              Json::object({{"key", command.key},
                            {"verb", command.verb},
                            {"args", command.args},
                            {"draws", command.draws}}));
          todo.push_back(command);
        }
      wake_at = std::min(wake_at, decision.wake_at);
    }
    asking = false;
    for (const Command& command : todo) run(command);
  }
  // As the controller: what nobody else holds is written, and the engine is asked again.
  bool claim(const Decision& decision) {
    bool written = false;
    for (const cluster::Claim& wish : decision.claims) {
      if (cluster.claims.find(wish.on, now) != nullptr) continue;
      const Event event = cluster::Claims::claimed(wish);
      say(event.subject, event.kind, event.body);
      written = true;
    }
    return written;
  }
  void run(const Command& command) {
    const std::string what = command.verb + " " + command.args["node"].as_string();
    did.push_back(what);
    Json body = Json::object({{"key", command.key}, {"verb", command.verb}});
    if (const auto it = refusals.find(what); it != refusals.end()) {
      body.set("error", Json::object({{"what", it->second}, {"remedy", "do something"}}));
      return say(command.subject, kFailed, body);
    }
    if (silent.contains(what) || (silent_every > 0 && ++commands % silent_every == 0)) {
      if (takes_effect_silently) show(command);
      body.set("error", Json::object({{"code", "slurm_away"}, {"what", "slurmctld does not answer"}}));
      return say(command.subject, kFailed, body);
    }
    if (holds.contains(what)) {
      held[what] = command;
      return;
    }
    body.set("result", check_result.is_object() ? check_result : Json::object({{"passed", check_passes}}));
    say(command.subject, kDone, body);
    if (command.verb == "notify") told.push_back(command.args["finding"]);
    show(command);
  }
  // What Slurm shows of a node after a command.
  void show(const Command& command) {
    if (command.verb == "drain" || command.verb == "undrain")
      nodes(command.args["node"].as_string(),
            command.verb == "drain" ? shown_when_drained : shown_when_lifted);
  }
  void nodes(const std::string& hostlist, const std::string& shown,
             std::vector<std::string> partitions = {"batch"}) {
    say("cluster", "nodes_seen",
        Json::object({{"groups", Json::array({Json::object({{"nodes", hostlist},
                                                            {"state", shown},
                                                            {"usable", shown == "IDLE"},
                                                            {"down", shown.starts_with("DOWN")},
                                                            {"boot", to_micros(boot)},
                                                            {"idle", shown.starts_with("IDLE")},
                                                            {"partitions", partitions}})})},
                      {"boots", gates}}));
  }
  // The answer to what has none yet.
  void answer(const std::string& what, Json result) {
    const auto found = held.extract(what);
    ASSERT_FALSE(found.empty()) << what;
    say(found.mapped().subject, kDone,
        Json::object(
            {{"key", found.mapped().key}, {"verb", found.mapped().verb}, {"result", std::move(result)}}));
  }
  void hello(const std::string& node, const std::string& told_boot) {
    say(node_subject(node), kAgentSeen, Json::object({{"version", "1"}, {"boot_id", told_boot}}));
  }
  void gone(const std::string& hostlist) {
    say("cluster", "nodes_seen",
        Json::object({{"groups", Json::array({Json::object({{"nodes", hostlist}, {"gone", true}})})}}));
  }
  void finding(int no, const std::string& node, const std::string& rule, const std::string& result = "fault",
               const std::string& action = "drain", bool late = false) {
    say("f" + std::to_string(no), kFinding,
        Json::object({{"node", node},
                      {"specification", "node"},
                      {"rule", rule},
                      {"result", result},
                      {"action", action},
                      {"text", rule + " is broken"},
                      {"boot_id", boot_id},
                      {"late", late}}));
  }
  void verdict(const std::string& node, bool final = true, const std::string& cause = "b") {
    say("c1", "verdict",
        Json::object({{"cause", cause},
                      {"final", final},
                      {"nodes", Json::array({node})},
                      {"sentence", "It was " + node}}));
  }
  // Lets time pass, with what was asked for at its moments.
  void pass(std::chrono::seconds time) {
    const TimePoint until = now + time;
    while (wake_at <= until) {
      now = std::max(now, wake_at);
      wake_at = kNever;
      for (const auto& [name, node] : state.nodes) touched.insert(name);
      settle();
    }
    now = until;
  }
  bool drained(const std::string& node) const {
    const auto it = state.nodes.find(node);
    return it != state.nodes.end() ? seen(cluster.view, node, it->second).drained
                                   : cluster.view.node(node) && cluster.view.node(node)->drained;
  }
  Known known() const { return {cluster, state, policy, now}; }
  std::string_view stands(const std::string& node) const { return standing(known(), node); }
  /// How people are shown the node.
  Json view(const std::string& node) const {
    std::string text;
    JsonText writes(text);
    write_node_view(writes, known(), node);
    return Json::parse(text).value_or(Json());
  }
  std::vector<std::string> kinds(std::string_view kind) const {
    std::vector<std::string> found;
    for (const Event& event : log)
      if (event.kind == kind) found.push_back(event.body.dump());
    return found;
  }
};

}  // namespace sickbay::drain
