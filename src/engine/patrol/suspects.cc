// SPDX-License-Identifier: Apache-2.0
// Rounds that Sickbay opens by itself: for nodes on which whatever starts fails, while nothing runs elsewhere
// that could tell (engine/blackhole).  Such a round is about these nodes and one more, which shows that V is
// sound.
//
// Where one user's jobs alone speak against a node, it has a round of its own, when nobody else's stands: of
// one user one in ten minutes, and of all such users three.  Those do not count for the others, so nobody who
// makes his jobs fail keeps V from a node that eats everybody's.
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

// When the round after the last `most` of these may be opened; kNoTime: now.
template <class Counts>
TimePoint next_after(const State& state, TimePoint now, std::size_t most, Counts counts) {
  std::vector<TimePoint> before;  // oldest first
  for (const auto& [no, round] : state.rounds)
    if (round.for_suspects && round.proven.empty() && now < round.asked_at + kWithin && counts(round))
      before.push_back(round.asked_at);
  return before.size() < most ? kNoTime : before[before.size() - most] + kWithin;
}

bool may_be_asked_about(const cluster::Cluster& cluster, const std::string& name) {
  // Who is out takes no jobs.  It is asked about when it is back, if its jobs fail still.
  const cluster::Node* node = cluster.view.node(name);
  return node != nullptr && node->usable;
}

Event round_about(const State& state, std::vector<std::string> names, const std::string& why) {
  const int budget = kTries * static_cast<int>(names.size()) + kOthers;
  return new_event(patrol_name(state.last + 1), kPatrolAsked,
                   Json::object({{"by", kBySickbay},
                                 {"nodes", ""},
                                 {"budget", budget},
                                 {"suspects", compress_hostlist(sorted_hosts(std::move(names)))},
                                 {"why", why}}));
}

// The one that has waited for longest, of those whose user has had none just now.
Decision decide_for_one_user(const cluster::Cluster& cluster, const State& state, TimePoint now) {
  Decision decision;
  const TimePoint next =
      next_after(state, now, kMostRounds, [](const Round& round) { return round.uid != kOfSeveral; });
  const std::pair<const std::string, Suspect>* oldest = nullptr;
  for (const auto& entry : state.suspects) {
    const Suspect& suspect = entry.second;
    if (!suspect.of_one_user() || !may_be_asked_about(cluster, entry.first)) continue;
    const TimePoint his = std::max(
        next, next_after(state, now, 1, [&](const Round& round) { return round.uid == suspect.uid; }));
    if (his > now)
      decision.wake_at = std::min(decision.wake_at, his);
    else if (oldest == nullptr || suspect.since < oldest->second.since)
      oldest = &entry;
  }
  if (oldest == nullptr) return decision;
  Event asked = round_about(state, {oldest->first}, oldest->second.why);
  asked.body.set("uid", oldest->second.uid);
  decision.records.push_back(std::move(asked));
  return decision;
}

}  // namespace

Decision decide_opening(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                        TimePoint now) {
  Decision decision;
  if (!policy.suspects || state.open() != nullptr) return decision;
  std::vector<std::string> names;
  std::string why;
  for (const auto& [name, suspect] : state.suspects) {
    if (suspect.of_one_user() || !may_be_asked_about(cluster, name)) continue;
    if (names.size() == static_cast<std::size_t>(policy.together)) break;
    names.push_back(name);
    if (why.empty()) why = suspect.why;
  }
  if (names.empty()) return decide_for_one_user(cluster, state, now);
  const TimePoint next =
      next_after(state, now, kMostRounds, [](const Round& round) { return round.uid == kOfSeveral; });
  if (next > now)
    decision.wake_at = next;
  else
    decision.records.push_back(round_about(state, std::move(names), why));
  return decision;
}

bool has_passed_elsewhere(const State& state, const Policy& policy, const Round& round,
                          const std::string& node, TimePoint began) {
  TimePoint from = began - policy.proof_age;
  // (While the jobs of the one user who speaks against it pass elsewhere, not everything is away there.)
  const bool others_pass = round.uid != kOfSeveral && round.suspects.size() == 1;
  for (const auto& [name, since] : round.suspects)
    if (!others_pass && (round.for_suspects || name == node)) from = std::max(from, since);
  return std::ranges::any_of(state.nodes, [&](const auto& entry) {
    const TimePoint passed = entry.second.passed_at;
    // Before or after it: a pass later in the round proves as much that V is sound.
    return entry.first != node && passed != kNoTime && passed >= from && passed <= began + policy.proof_age;
  });
}

}  // namespace sickbay::patrol
