// SPDX-License-Identifier: Apache-2.0
#include "net_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace sickbay::verify {
namespace {

void expect_no_rank_twice_in_a_round(const std::vector<Round>& plan, int ranks) {
  for (const Round& round : plan) {
    std::set<int> seen;
    for (const auto& [low, high] : round) {
      EXPECT_LT(low, high);
      EXPECT_GE(low, 0);
      EXPECT_LT(high, ranks);
      EXPECT_TRUE(seen.insert(low).second) << low;
      EXPECT_TRUE(seen.insert(high).second) << high;
    }
  }
}

TEST(NetPlan, TestsEachPairOnceUpToSixteenRanks) {
  for (int ranks = 0; ranks <= kAllPairsUpTo; ++ranks) {
    const auto plan = net_plan(ranks, 3, 1);
    expect_no_rank_twice_in_a_round(plan, ranks);
    std::set<Pair> pairs;
    std::size_t count = 0;
    for (const Round& round : plan) {
      pairs.insert(round.begin(), round.end());
      count += round.size();
    }
    EXPECT_EQ(count, static_cast<std::size_t>(ranks * (ranks - 1) / 2)) << ranks;
    EXPECT_EQ(pairs.size(), count) << ranks;
  }
}

TEST(NetPlan, GrowsLinearlyAboveThatAndMeetsEveryRank) {
  for (const int ranks : {17, 18, 100, 1001}) {
    const auto plan = net_plan(ranks, 2, 7);
    expect_no_rank_twice_in_a_round(plan, ranks);
    std::vector<int> pairs_of(ranks);
    std::size_t count = 0;
    for (const Round& round : plan)
      for (const auto& [low, high] : round) {
        ++pairs_of[low];
        ++pairs_of[high];
        ++count;
      }
    EXPECT_GE(*std::min_element(pairs_of.begin(), pairs_of.end()), 2) << ranks;
    EXPECT_LE(count, static_cast<std::size_t>(2 * ranks)) << ranks;
  }
}

TEST(NetPlan, IsTheSameOnAllRanks) {
  EXPECT_EQ(net_plan(50, 3, 9), net_plan(50, 3, 9));
  EXPECT_NE(net_plan(50, 3, 9), net_plan(50, 3, 10));
}

}  // namespace
}  // namespace sickbay::verify
