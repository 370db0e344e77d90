// SPDX-License-Identifier: Apache-2.0
// Rounds that Sickbay opens by itself: for nodes on which whatever starts fails, while nothing runs elsewhere
// that could tell (engine/blackhole).  Such a round is about these nodes and one more, which shows that V is
// sound.
#include <algorithm>

#include "base/hostlist.h"
#include "engine/patrol/patrol.h"
#include "model/event_kinds.h"

namespace sickbay::patrol {
namespace {

// So many such rounds in so long that found nobody at fault: who makes jobs fail on purpose, on node after
// node, takes no more than that.
constexpr std::size_t kMostRounds = 3;
constexpr std::chrono::minutes kWithin{10};
// V on each suspect, which may have to be begun three times (users' jobs go first, and what has begun
// counts); and on others: one, and a second where the first said nothing.
constexpr int kTries = 3, kOthers = 2;

}  // namespace

Decision decide_opening(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                        TimePoint now) {
  Decision decision;
  if (!policy.suspects || state.open() != nullptr) return decision;
  std::vector<std::string> names;
  std::string why;
  for (const auto& [name, suspect] : state.suspects) {
    const cluster::Node* node = cluster.view.node(name);
    // Who is out takes no jobs.  It is asked about when it is back, if its jobs fail still.
    if (node == nullptr || !node->usable) continue;
    if (names.size() == static_cast<std::size_t>(policy.together)) break;
    names.push_back(name);
    if (why.empty()) why = suspect.why;
  }
  if (names.empty()) return decision;
  std::vector<TimePoint> before;  // oldest first
  for (const auto& [no, round] : state.rounds)
    if (round.for_suspects && round.proven.empty() && now < round.asked_at + kWithin)
      before.push_back(round.asked_at);
  if (before.size() >= kMostRounds) {
    decision.wake_at = before[before.size() - kMostRounds] + kWithin;
    return decision;
  }
  const int budget = kTries * static_cast<int>(names.size()) + kOthers;
  decision.records.push_back(
      new_event(patrol_name(state.last + 1), kPatrolAsked,
                Json::object({{"by", kBySickbay},
                              {"nodes", ""},
                              {"budget", budget},
                              {"suspects", compress_hostlist(sorted_hosts(std::move(names)))},
                              {"why", why}})));
  return decision;
}

bool has_passed_elsewhere(const State& state, const Policy& policy, const Round& round,
                          const std::string& node, TimePoint began) {
  TimePoint from = began - policy.proof_age;
  for (const auto& [name, since] : round.suspects)
    if (round.for_suspects || name == node) from = std::max(from, since);
  return std::ranges::any_of(state.nodes, [&](const auto& entry) {
    const TimePoint passed = entry.second.passed_at;
    // Before or after it: a pass later in the round proves as much that V is sound.
    return entry.first != node && passed != kNoTime && passed >= from && passed <= began + policy.proof_age;
  });
}

}  // namespace sickbay::patrol
