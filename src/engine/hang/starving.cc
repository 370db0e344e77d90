// SPDX-License-Identifier: Apache-2.0
#include "engine/hang/starving.h"

#include <algorithm>

namespace sickbay::hang {

std::vector<StarvedNode> starved_nodes(const std::map<std::string, ProcessTimes>& told, std::size_t nodes) {
  std::vector<std::int64_t> shares;
  std::vector<StarvedNode> found;
  for (const auto& [node, times] : told) {
    if (times.seen < kLeastSeen) continue;
    shares.push_back(times.lost_permille());
    if (shares.back() >= kLeastPermille) found.push_back({node, times, -1, false});
  }
  if (found.empty()) return found;
  // (Those who tell are a part of the nodes; the others of each are one fewer.)
  const std::size_t others = shares.size() - 1;
  if (nodes > 1 && (others == 0 || others < nodes / 2)) return {};
  std::ranges::sort(shares);
  for (StarvedNode& one : found) {
    if (others == 0) continue;
    // The higher median of the others: without `one` all that stand above it move down by one place.
    const std::size_t middle = others / 2;
    const std::int64_t own = one.times.lost_permille();
    one.others_permille = shares[middle] < own ? shares[middle] : shares[middle + 1];
    one.apart = own >= kTimes * one.others_permille;
  }
  std::ranges::stable_sort(found, [](const StarvedNode& a, const StarvedNode& b) {
    return a.apart != b.apart ? a.apart : a.times.lost() > b.times.lost();
  });
  const auto first = std::ranges::find(found, false, &StarvedNode::apart);
  if (first != found.end()) found.erase(first + 1, found.end());
  return found;
}

}  // namespace sickbay::hang
