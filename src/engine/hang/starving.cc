// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/starving.h"

#include <algorithm>

namespace sickbay::hang {

namespace {

constexpr std::size_t kMostLookedAt = 16;  // of those that lost much: more are not told

// What the others of `one` lost, their median: the higher one of an even number.  -1: too few can be
// compared.
std::int64_t lost_by_others(const std::map<std::string, ProcessTimes>& told, const StarvedNode& one,
                            std::size_t nodes) {
  std::vector<std::int64_t> shares;
  for (const auto& [node, times] : told)
    if (node != one.node && times.seen >= kLeastSeen &&
        times.wanted_permille() * 2 >= one.times.wanted_permille())
      shares.push_back(times.lost_permille());
  if (shares.empty() || shares.size() < nodes / 2) return -1;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  return *middle;
}

}  // namespace

std::vector<StarvedNode> starved_nodes(const std::map<std::string, ProcessTimes>& told, std::size_t nodes) {
  std::size_t heard = 0;
  std::vector<StarvedNode> found;
  for (const auto& [node, times] : told) {
    if (times.seen < kLeastSeen) continue;
    ++heard;
    if (times.lost_permille() >= kLeastPermille) found.push_back({node, times, -1, false});
  }
  if (found.empty()) return found;
  // (Those who tell are a part of the nodes; the others of each are one fewer.)
  if (nodes > 1 && (heard == 1 || heard - 1 < nodes / 2)) return {};
  std::ranges::stable_sort(found, [](const StarvedNode& a, const StarvedNode& b) {
    return a.times.lost_permille() > b.times.lost_permille();
  });
  if (found.size() > kMostLookedAt) found.resize(kMostLookedAt);
  for (StarvedNode& one : found) {
    one.others_permille = lost_by_others(told, one, nodes);
    one.apart = one.others_permille >= 0 && one.times.lost_permille() >= kTimes * one.others_permille;
  }
  std::ranges::stable_sort(found, [](const StarvedNode& a, const StarvedNode& b) {
    return a.apart != b.apart ? a.apart : a.times.lost() > b.times.lost();
  });
  const auto first = std::ranges::find(found, false, &StarvedNode::apart);
  if (first != found.end()) found.erase(first + 1, found.end());
  return found;
}

}  // namespace sickbay::hang
