// SPDX-License-Identifier: Apache-2.0
// Blame: which cases blame which node, the other way round than the verdicts have it.
//
// Who lists the nodes of a cluster asks this for each of them; without it every node would cost a walk over
// all cases.  Derived: apply() keeps it, a replay brings it back, and the canonical text leaves it out.
#pragma once
#include <iterator>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// The nodes that the verdict of `subject` blames: as the cause of its job, or as faulty besides.
std::vector<std::string> blamed_nodes(const Case& subject);

/// Gives `subject` a verdict in the place of the one it had.
void set_verdict(State& state, Case& subject, Verdict verdict, TimePoint at);
/// Forgets what the verdict of `subject` blames: to be called before the case goes.
void drop_blame(State& state, const Case& subject);

/// The cases that blame `node`, in their order.
const std::set<std::int64_t>& blamers(const State& state, const std::string& node);

/// (Not std::ranges::subrange, which Clang 14 cannot read.)
struct SomeCases {
  std::set<std::int64_t>::const_iterator from, to;
  auto begin() const { return from; }
  auto end() const { return to; }
};
/// The newest `most` of `cases`, in their order, and how many older ones there are; good as long as `cases`.
/// Cost: O(most).
inline std::pair<SomeCases, std::size_t> newest(const std::set<std::int64_t>& cases, std::size_t most) {
  if (cases.size() <= most) return {SomeCases{cases.begin(), cases.end()}, std::size_t{0}};
  return {SomeCases{std::prev(cases.end(), static_cast<std::ptrdiff_t>(most)), cases.end()},
          cases.size() - most};
}

}  // namespace sickbay::identify
