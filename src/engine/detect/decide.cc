// SPDX-License-Identifier: Apache-2.0
// decide(): who complains, what the second way says, and whether the node may go.
#include <fmt/format.h>

#include <algorithm>

#include "engine/detect/detect.h"
#include "model/verbs.h"

namespace sickbay::detect {
namespace {

struct Known {
  const cluster::Cluster& cluster;
  const State& state;
  const Policy& policy;
  const cluster::BreakerPolicy& breaker;
  TimePoint now;
};

// Two, so that one node whose own network is bad takes nobody down; in a group of two there is one other.
std::size_t enough(std::size_t group) { return group > 2 ? 2 : 1; }

bool is_complained_of(const Known& k, const std::string& node) {
  const auto it = k.state.nodes.find(node);
  return it != k.state.nodes.end() &&
         std::ranges::any_of(it->second.by, [&](const auto& said) { return k.now - said.second < kFresh; });
}

// Those whose word counts now: fresh, and not complained of themselves by as many.
std::vector<std::string> accusers(const Known& k, const Suspect& s) {
  std::vector<std::string> names;
  for (const auto& [name, at] : s.by)
    // Who is complained of himself may be the one that is cut off.
    if (k.now - at < kFresh && !is_complained_of(k, name) && !k.cluster.view.is_down(name))
      names.push_back(name);
  return names;
}

// Of the same job: how many are complained of.
std::size_t complained_of(const Known& k, JobId job) {
  return static_cast<std::size_t>(std::ranges::count_if(k.state.nodes, [&](const auto& entry) {
    return entry.second.job == job && is_complained_of(k, entry.first);
  }));
}

void hold(const std::string& name, const Suspect& s, std::string why, Decision& decision) {
  // Said when it changes: it is decided again every few seconds.
  if (s.held != why)
    decision.records.push_back(
        new_event(node_subject(name), kDetectHeld, Json::object({{"why", std::move(why)}})));
}

void give_back(const Known& k, const std::string& name, Decision& decision) {
  const std::string subject = node_subject(name);
  if (k.cluster.claims.holds(kName, subject, subject, k.now))
    decision.records.push_back(cluster::Claims::released(subject, kName, "the node is not lost"));
  if (k.cluster.breaker.waits(subject) && !k.cluster.claims.find(subject, k.now))
    decision.records.push_back(cluster::Breaker::wait_ended(subject));
}

void ask(const Known& k, const std::string& name, const Suspect& s, const std::string& control,
         Decision& decision) {
  // Three times soon, then each minute: what answers us will go on doing so, and a port is not to be flooded.
  const TimePoint due =
      s.asked == kNoTime ? k.now : s.asked + (s.asked_times < kAskedOften ? kAskAgain : kAskRarely);
  if (k.now < due) {
    decision.wake_at = std::min(decision.wake_at, due);
    return;
  }
  Command command;
  command.subject = node_subject(name);
  command.key = fmt::format("{}.q{}", command.subject, s.numbers.questions + 1);
  command.verb = verb::kAskNode;
  command.args = Json::object({{"node", name}, {"control", control}});
  decision.commands.push_back(std::move(command));
}

void set_down(const Known& k, const std::string& name, const Suspect& s, Decision& decision) {
  if (!k.policy.act) return hold(name, s, "observing: detect.act is false", decision);
  const std::string subject = node_subject(name);
  auto leave = k.cluster.breaker.ask(k.breaker, k.cluster.view, k.cluster.claims, name, subject, k.now);
  if (!leave.granted) {
    decision.records = std::move(leave.records);
    hold(name, s, "the breaker: " + leave.held.why, decision);
    decision.wake_at = std::min({decision.wake_at, leave.held.until, k.now + kAskAgain});
    return;
  }
  decision.claims.push_back({.on = subject,
                             .holder = std::string(kName),
                             .by = subject,
                             .reason = "it does not answer",
                             .out = true});
  // First the claim is written, and in the next round the command follows: another engine may have been
  // first.
  if (!k.cluster.claims.holds(kName, subject, subject, k.now)) return;
  decision.records = std::move(leave.records);
  Command command;
  command.subject = subject;
  command.key = fmt::format("{}.x{}", subject, s.numbers.downs + 1);
  command.verb = verb::kSetDown;
  command.args =
      // (Not done after that time: Slurm may have been away, and the node be back.)
      Json::object({{"node", name}, {"reason", kReason}, {"before", to_micros(k.now + kHoldsFor)}});
  command.draws = {name};
  decision.commands.push_back(std::move(command));
}

}  // namespace

Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const cluster::BreakerPolicy& breaker, const std::string& subject, TimePoint now) {
  Decision decision;
  if (const auto job = parse_job_subject(subject)) {
    // Nothing else closes it: the view would keep it for good.
    if (const auto group = state.groups.find(*job); group != state.groups.end() && group->second.ended)
      decision.records.push_back(
          new_event(subject, kJobLost, Json::object({{"run", subject}, {"job_id", *job}})));
    return decision;
  }
  const std::string name(node_of_subject(subject));
  const auto it = state.nodes.find(name);
  if (it == state.nodes.end()) return decision;
  const Suspect& s = it->second;
  const Known k{cluster, state, policy, breaker, now};
  const cluster::Node* node = cluster.view.node(name);
  // One thing at a time; its end brings us here again.
  if (s.setting || s.ours || s.asking) return decision;
  // Slurm has it DOWN already: whoever did that, there is nothing left to do.
  const std::vector<std::string> who = accusers(k, s);
  if (node == nullptr || node->down || who.size() < enough(s.group)) {
    give_back(k, name, decision);
    return decision;
  }
  // (The last one of two or three nodes whose others died together is held by this, too.)
  if (2 * complained_of(k, s.job) > s.group) {
    hold(name, s,
         "more than half of the job's nodes are complained of: the network is cut, and Slurm decides",
         decision);
    decision.wake_at = now + kAskAgain;
    return decision;
  }
  // An answer that is older than the pause between two questions proves nothing of now.
  if (s.gone && now - s.asked < kAskAgain)
    set_down(k, name, s, decision);
  else
    ask(k, name, s, who.front(), decision);
  return decision;
}

}  // namespace sickbay::detect
