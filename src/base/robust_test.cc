// SPDX-License-Identifier: Apache-2.0
// Values that can be checked by hand, and that a few wrong ones change nothing.
#include "base/robust.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sickbay {
namespace {

TEST(Robust, TheMiddleOfValues) {
  const struct {
    std::vector<double> values;
    std::optional<double> median;
  } rows[] = {
      {{}, {}}, {{7}, 7}, {{3, 1}, 2}, {{5, 1, 3}, 3}, {{4, 1, 3, 2}, 2.5}, {{1, 1, 1, 1e9}, 1},
  };
  for (const auto& row : rows) EXPECT_EQ(median_of(row.values), row.median) << row.values.size();
}

TEST(Robust, HalfOfTheValuesMayBeAnything) {
  EXPECT_FALSE(spread_of({}));
  const std::vector<double> good = {98, 99, 100, 101, 102};
  const auto of_good = spread_of(good);
  EXPECT_EQ(of_good->median, 100);
  EXPECT_NEAR(of_good->deviation, 1.4826, 1e-9);
  const std::vector<double> two_bad = {98, 99, 100, 101, 102, 1, 1e9};
  EXPECT_EQ(spread_of(two_bad)->median, 100);
  EXPECT_LT(spread_of(two_bad)->deviation, 3.1);
  const std::vector<double> alike = {5, 5, 5, 9};
  EXPECT_EQ(spread_of(alike)->deviation, 0) << "most are exactly alike: the caller needs a floor";
}

TEST(Robust, ChanceOfACount) {
  const struct {
    const char* what;
    std::uint64_t hits, trials, others_hits, others_trials;
    double chance;
  } rows[] = {
      {"nothing happened", 0, 100, 5, 100, 1},
      // Of 1 hit each of two equal sides has it with probability one half.
      {"one hit", 1, 10, 0, 10, 0.5},
      // 3 of 3 hits on one of two equal halves of 20: (10 over 3) / (20 over 3) = 120/1140.
      {"all three here", 3, 10, 0, 10, 120.0 / 1140},
      // Fisher's tea: 4 and more of 4 in (4, 4): 1/70.
      {"tea, all right", 4, 4, 0, 4, 1.0 / 70},
      {"tea, three right", 3, 4, 1, 4, 17.0 / 70},
      {"nobody to compare with", 5, 500, 0, 0, 1},
      {"more hits than trials", 5, 2, 0, 0, 1},
  };
  for (const auto& row : rows)
    EXPECT_NEAR(at_least_by_chance(row.hits, row.trials, row.others_hits, row.others_trials), row.chance,
                1e-9)
        << row.what;
  // Counts of segments: no overflow, and the direction is right.
  EXPECT_LT(at_least_by_chance(23, 3254, 4, 40'000), 1e-10);
  EXPECT_GT(at_least_by_chance(23, 3254, 300, 40'000), 0.3);
}

TEST(Robust, TheWeightOfCounts) {
  EXPECT_NEAR(ln_beta(1, 1), 0, 1e-12);
  EXPECT_NEAR(ln_beta(3, 2), std::log(1.0 / 12), 1e-12) << "2! 1! / 4!";
  EXPECT_NEAR(ln_beta(0.5, 0.5), std::log(std::acos(-1.0)), 1e-12) << "pi";
}

}  // namespace
}  // namespace sickbay
