// SPDX-License-Identifier: Apache-2.0
#include "engine/further/next_nodes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace sickbay::further {
namespace {

// Suspects, the likeliest first; by number among equals.
std::vector<int> ranked(const Posterior& now) {
  std::vector<int> order(now.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return now.nodes[static_cast<std::size_t>(a)] > now.nodes[static_cast<std::size_t>(b)];
  });
  return order;
}

// Sets worth asking about.  The one that comes first wins among equals, so halves stand at the head.
std::vector<std::vector<int>> candidates(const Posterior& now, const std::vector<int>& order) {
  std::vector<std::vector<int>> sets;
  const auto range = [&](std::size_t from, std::size_t to) {
    sets.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(from),
                      order.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const std::size_t n = order.size();
  // Every second one: half of those that are alike, whatever their share.
  std::vector<int> half;
  for (std::size_t i = 0; i < n; i += 2) half.push_back(order[i]);
  sets.push_back(std::move(half));
  // The leaders that have half of what is held against nodes.
  double sum = 0, all = std::accumulate(now.nodes.begin(), now.nodes.end(), 0.0);
  std::size_t leaders = 0;
  while (leaders < n && sum < all / 2) sum += now.nodes[static_cast<std::size_t>(order[leaders++])];
  range(0, leaders);
  range(0, 0);  // tells the program from all of them
  range(0, n);
  // Doubling: the number of candidates grows with the logarithm of the suspects.
  for (std::size_t k = 1; k < n; k *= 2) {
    range(0, k);  // only the leaders
    range(k, n);  // all but these
  }
  // Both ends of a link, and one without the other.
  if (!now.top_links.empty()) {
    const auto [a, b] = now.top_links.front().ends;
    sets.push_back({a, b});
    sets.push_back({a});
    for (const int left_out : {a, b}) {
      std::vector<int> rest = order;
      std::erase(rest, left_out);
      sets.push_back(std::move(rest));
    }
  }
  return sets;
}

// Made to fit: the least suspected go first, or are added first, so that the question stays what it was.
void fit(std::vector<int>& in, const std::vector<int>& order, const Room& room) {
  const auto n = static_cast<int>(order.size());
  const auto most = static_cast<std::size_t>(std::clamp(room.size, 0, n));
  // The program needs `size` nodes: those that are not to be had outside must be suspects.
  const auto least = static_cast<std::size_t>(std::clamp(room.size - std::max(0, room.outside), 0, n));
  if (in.size() > most) in.resize(most);  // (candidates stand in the order of suspicion)
  std::set<int> has(in.begin(), in.end());
  for (auto it = order.rbegin(); it != order.rend() && has.size() < least; ++it) has.insert(*it);
  in.assign(has.begin(), has.end());
}

// Sets that were tried.  When there are as many as a posterior hears, another one would tell nothing.
std::set<std::vector<int>> tried_sets(const Record& record) {
  std::set<std::vector<int>> sets;
  for (const Trial& trial : record.trials)
    if (!trial.nodes.empty()) sets.insert(trial.nodes);
  return sets;
}

}  // namespace

NextRun next_on(const Record& record, const Prior& prior, std::vector<int> in) {
  const Posterior now = posterior(record, prior);
  Record after = record;
  after.trials.push_back({in, true});
  NextRun next;
  next.in = std::move(in);
  next.if_failed = posterior(after, prior);
  after.trials.back().failed = false;
  next.if_ok = posterior(after, prior);
  // P(it fails | all so far): the evidence with one failure more, over that without.
  next.fails = std::exp(next.if_failed.log_evidence - now.log_evidence);
  next.gain = now.entropy - next.fails * next.if_failed.entropy - (1 - next.fails) * next.if_ok.entropy;
  return next;
}

NextRun next_nodes(const Record& record, const Prior& prior, const Room& room) {
  const Posterior now = posterior(record, prior);
  const std::vector<int> order = ranked(now);
  const std::set<std::vector<int>> tried = tried_sets(record);
  std::vector<std::vector<int>> sets = candidates(now, order);
  // The posterior hears no set beyond the bound, so only sets that were tried can still tell anything.
  if (tried.size() >= kMostSets) sets.insert(sets.end(), tried.begin(), tried.end());
  NextRun best;
  std::set<std::vector<int>> seen;
  for (std::vector<int>& in : sets) {
    fit(in, order, room);
    if (tried.size() >= kMostSets && !in.empty() && !tried.contains(in)) continue;
    if (!seen.insert(in).second) continue;
    NextRun next = next_on(record, prior, std::move(in));
    // What rounding makes of equal ones must not decide.
    constexpr double kSame = 1e-9;
    if (seen.size() == 1 || next.gain > best.gain + kSame) best = std::move(next);
  }
  return best;
}

}  // namespace sickbay::further
