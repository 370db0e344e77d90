// SPDX-License-Identifier: Apache-2.0
#include "test/toy_engine/toy.h"

#include <fmt/format.h>

#include "model/ids.h"
#include "model/verbs.h"

namespace sickbay::toy {
namespace {

Event record(const std::string& subject, std::string_view kind) {
  Event event;
  event.subject = subject;
  event.kind = kind;
  event.body = Json::object();
  return event;
}

}  // namespace

void apply(State& state, const Event& event) {
  if (event.kind == kWanted) {
    Thing& thing = state.things[event.subject];
    thing.job_id = static_cast<JobId>(event.body["job_id"].as_int());
    thing.uid = static_cast<std::uint32_t>(event.body["uid"].as_int());
    thing.node = event.body["node"].as_string();
    thing.take = event.body["take"].as_bool();
    thing.claims = event.body["claims"].as_bool(true);
    thing.circles = event.body["circles"].as_bool();
    thing.every = std::chrono::seconds(event.body["every_s"].as_int());
    if (thing.every.count() > 0) thing.next_tick = event.at + thing.every;
  }
  const auto it = state.things.find(event.subject);
  if (it == state.things.end()) return;
  Thing& thing = it->second;
  if (event.kind == kTicked) ++thing.ticks, thing.next_tick = event.at + thing.every;
  if (event.kind == kJobSeen) thing.job_state = event.body["job"]["state"].as_string();
  if (event.kind == kJobLost) thing.job_id = 0;  // who still wished for it would be told again
  if (event.kind == kIntent) ++thing.drains;
  if (event.kind == kDropped) thing.dropped = true;
}

Decision decide(const cluster::Cluster& cluster, const State& state, const std::string& subject,
                TimePoint now) {
  Decision decision;
  const auto it = state.things.find(subject);
  if (it == state.things.end()) return decision;
  const Thing& thing = it->second;
  const std::string on = node_subject(thing.node);
  const bool holds = cluster.claims.holds(kName, subject, on, now);
  if (thing.dropped) {
    if (holds) decision.records.push_back(cluster::Claims::released(on, kName, "the toy is done"));
    return decision;
  }
  if (thing.circles) decision.records.push_back(record(subject, kTicked));
  if (!thing.node.empty() && thing.claims)
    decision.claims.push_back({.on = on,
                               .holder = std::string(kName),
                               .by = subject,
                               .reason = "plays with it",
                               .out = thing.take});
  if (thing.take && thing.drains == 0 && (holds || !thing.claims)) {
    Command drain{subject + ".d1", subject, std::string(verb::kDrain),
                  Json::object({{"node", thing.node}, {"reason", "sickbay:toy"}})};
    drain.draws = {thing.node};
    decision.commands.push_back(std::move(drain));
  }
  if (thing.next_tick <= now) decision.records.push_back(record(subject, kTicked));
  decision.wake_at = thing.next_tick;
  return decision;
}

std::string canonical_text(const State& state) {
  std::string text;
  for (const auto& [name, t] : state.things)
    text += fmt::format("toy {} job {} {} node {} ticks {} next {} drains {} dropped {}\n", name, t.job_id,
                        t.job_state, t.node, t.ticks, to_micros(t.next_tick), t.drains, t.dropped);
  return text;
}

}  // namespace sickbay::toy
