// SPDX-License-Identifier: Apache-2.0
// A toy engine: what somebody who adds an engine writes, and nothing else.
//
// It minds things ("t1").  A thing may have a job to watch, a node to keep to itself, and a time after which
// it ticks.  As in the product's engines, apply() and decide() are pure, and the state changes by events
// only.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/event.h"

namespace sickbay::toy {

inline constexpr std::string_view kName = "toy";
inline constexpr std::string_view kWanted = "toy_wanted";  ///< t1 {job_id, uid, node, take, every_s, circles}
inline constexpr std::string_view kTicked = "toy_ticked";  ///< t1
inline constexpr std::string_view kDropped = "toy_dropped";  ///< t1: it minds it no more

struct Thing {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string job_state;  ///< as last seen
  std::string node;       ///< to keep to itself; "" for none
  bool take = false;      ///< and to drain it
  bool claims = true;     ///< false: it forgets to ask, a fault of the engine
  bool circles = false;   ///< it never settles, a fault of the engine
  std::chrono::seconds every{0};
  TimePoint next_tick = kNever;
  int ticks = 0, drains = 0;
  bool dropped = false;
};

struct State {
  static constexpr int kFields = 1;
  std::map<std::string, Thing> things;
};

struct Decision {
  std::vector<cluster::Claim> claims;
  std::vector<Event> records;
  std::vector<Command> commands;
  TimePoint wake_at = kNever;
};

void apply(State& state, const Event& event);
Decision decide(const cluster::Cluster& cluster, const State& state, const std::string& subject,
                TimePoint now);
std::string canonical_text(const State& state);

}  // namespace sickbay::toy
