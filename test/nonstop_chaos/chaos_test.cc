// SPDX-License-Identifier: Apache-2.0
#include "test/nonstop_chaos/chaos.h"

#include <gtest/gtest.h>

namespace sickbay::chaos {
namespace {

TEST(NonstopChaos, NothingIsLostDoubledOrLeftOver) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Outcome outcome = run({.seed = seed, .steps = 6'000, .jobs = 100, .partitions = 4});
    EXPECT_EQ(outcome.wrong, "") << "seed " << seed << ": " << outcome.text();
    // It must have been tried, too.
    EXPECT_GT(outcome.replaced, 50);
    EXPECT_GT(outcome.dropped, 10);
    EXPECT_GT(outcome.extended, 10);
    EXPECT_GT(outcome.later, 5);
    EXPECT_GT(outcome.restarts, 5);
    EXPECT_GT(outcome.lost_answers, 50);
  }
}

TEST(NonstopChaos, ACrowdedClusterWaits) {
  const Outcome outcome =
      run({.seed = 99, .steps = 8'000, .jobs = 300, .partitions = 1, .spares = 1, .from_the_first = false});
  EXPECT_EQ(outcome.wrong, "") << outcome.text();
  EXPECT_GT(outcome.later, 20);
}

}  // namespace
}  // namespace sickbay::chaos
