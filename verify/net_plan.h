// SPDX-License-Identifier: Apache-2.0
// Which pairs of ranks talk, and when.
//
// Up to 16 ranks every pair is tested: a round-robin tournament (circle method), so that in each round every
// rank has at most one partner.  Above, a ring and some rounds of random pairs: a bad node still shows in all
// of its pairs, at a cost that does not grow with the square of the cluster.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

namespace sickbay::verify {

using Pair = std::pair<int, int>;  ///< lower rank first
using Round = std::vector<Pair>;   ///< no rank twice

inline constexpr int kAllPairsUpTo = 16;

/// The rounds for `ranks` ranks; equal on all ranks for equal arguments.  Pure.  Empty under 2 ranks.
std::vector<Round> net_plan(int ranks, int random_rounds, std::uint64_t seed);

}  // namespace sickbay::verify
