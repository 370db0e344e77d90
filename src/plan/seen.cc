// SPDX-License-Identifier: Apache-2.0
#include "plan/seen.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "plan/fit.h"

namespace sickbay::plan {
namespace {

double hours(Micros length) { return static_cast<double>(length.count()) / 3.6e9; }

// Marks failures of several nodes that begin within kBurstGapH of each other, where that happens more often
// than failures without memory would make it.  Where chance could make a good part of the pairs, only three
// or more nodes are a burst.
void mark_bursts(Seen& seen) {
  const auto count = static_cast<double>(seen.failures.size());
  for (std::size_t i = 1; i < seen.failures.size(); ++i)
    seen.pairs += seen.failures[i].start - seen.failures[i - 1].start <= kBurstGapH;
  seen.pairs_by_chance = (count - 1) * (1 - std::exp(-count / seen.span * kBurstGapH));
  // Three deviations of a Poisson count over what chance makes, and two more for short lists.
  if (seen.pairs <= seen.pairs_by_chance + 3 * std::sqrt(seen.pairs_by_chance) + 2) return;
  const std::size_t least = seen.pairs_by_chance < 0.3 * seen.pairs ? 2 : 3;
  for (std::size_t first = 0; first < seen.failures.size();) {
    std::size_t end = first + 1;
    std::set<std::uint32_t> nodes = {seen.failures[first].node};
    for (;
         end < seen.failures.size() && seen.failures[end].start - seen.failures[end - 1].start <= kBurstGapH;
         ++end)
      nodes.insert(seen.failures[end].node);
    if (nodes.size() >= least) {
      std::vector<double> repairs;
      for (std::size_t i = first; i < end; ++i) {
        seen.failures[i].in_burst = true;
        seen.failures[i].first_of_burst = i == first;
        // Each node once: one that fails twice in a burst is one of its nodes.
        if (nodes.erase(seen.failures[i].node) > 0) repairs.push_back(seen.failures[i].length);
      }
      seen.bursts.push_back(std::move(repairs));
    }
    first = end;
  }
}

}  // namespace

Seen seen_of(const System& system, TimePoint from, TimePoint until) {
  Seen seen;
  seen.span = hours(until - from);
  std::vector<std::pair<double, int>> steps;
  for (const Failure& f : system.failures) {
    if (f.start < from || f.start >= until) continue;
    SeenFailure one;
    one.node = f.node;
    one.start = hours(f.start - from);
    // What lies behind the window is not used: validate() fits the model by a part of the list alone.
    one.length_known = f.end != kNever && f.end <= until;
    one.cut_off = f.end != kNever && f.end > until;
    if (f.end != kNever) one.length = hours(std::min(f.end, until) - f.start);
    seen.down_h += one.length;
    steps.emplace_back(one.start, 1);
    steps.emplace_back(one.start + one.length, -1);
    seen.failures.push_back(one);
  }
  // Where one ends as another begins both were not down together; one without length was down all the same.
  std::sort(steps.begin(), steps.end());
  int down = 0;
  for (const auto& [at, step] : steps) {
    down += step;
    seen.most_down = std::max(seen.most_down, static_cast<std::size_t>(std::max(down, 0)));
  }
  if (!seen.failures.empty()) seen.most_down = std::max<std::size_t>(seen.most_down, 1);
  mark_bursts(seen);
  return seen;
}

}  // namespace sickbay::plan
