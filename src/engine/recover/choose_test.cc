// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/choose.h"

#include <gtest/gtest.h>

#include <random>

namespace sickbay::recover {
namespace {

constexpr Seconds kPerson{3600};
constexpr std::array kBoth = {Nesting::nested, Nesting::apart};

Step step(Level level, double takes, double cures) {
  return {.cell = 0, .level = level, .takes = Seconds(takes), .cures = cures};
}
std::vector<Step> three(double q1, double q2, double q3) {
  return {step(Level::component, 10, q1), step(Level::node, 300, q2), step(Level::group, 900, q3)};
}

// Paths of one to five cells whose restarts take longer the higher they are, with any chances.
struct RandomPaths {
  std::mt19937 random{7};
  double one() { return std::uniform_real_distribution<>(0, 1)(random); }
  std::vector<Step> next() {
    std::vector<Step> path;
    double takes = 0;
    const int size = 1 + static_cast<int>(one() * 5);
    for (int i = 0; i < size; ++i) {
      takes += 1 + 400 * one();
      path.push_back(step(static_cast<Level>(std::min(i, 3)), takes, one()));
    }
    return path;
  }
};

TEST(Choose, WhatAnOracleThatIsAlwaysRightDoes) {
  for (const Nesting nesting : kBoth) {
    const auto path = three(1, 1, 1);
    EXPECT_EQ(choose(path, kPerson, nesting)->start, 0u);
    EXPECT_EQ(choose(path, kPerson, nesting)->expected, Seconds(10));
    EXPECT_EQ(choose(three(0, 1, 1), kPerson, nesting)->start, 1u) << "what never cures is not tried";
    EXPECT_EQ(choose(three(0, 0, 1), kPerson, nesting)->start, 2u);
    EXPECT_EQ(choose(three(0, 0, 1), kPerson, nesting)->expected, Seconds(900));
  }
}

TEST(Choose, ByHand) {
  const std::vector<Step> path = {step(Level::component, 30, 0.1), step(Level::node, 120, 0.3),
                                  step(Level::group, 600, 1)};
  // E_3 = 600, E_2 = 120 + 0.7 * 600 = 540, E_1 = 30 + 0.9 * 540 = 516.
  const auto apart = expected_times(path, kPerson);
  EXPECT_DOUBLE_EQ(apart[0].count(), 516);
  EXPECT_DOUBLE_EQ(apart[1].count(), 540);
  EXPECT_DOUBLE_EQ(apart[2].count(), 600);
  // To begin with the node leaves only 0.9 * 0.7 of faults: 120 + 0.63 * 600 = 498.
  const auto nested = expected_times(path, kPerson, Nesting::nested);
  EXPECT_DOUBLE_EQ(nested[0].count(), 516);
  EXPECT_DOUBLE_EQ(nested[1].count(), 498);
  EXPECT_DOUBLE_EQ(nested[2].count(), 600);
  EXPECT_EQ(choose(path, kPerson)->start, 0u);
  EXPECT_EQ(choose(path, kPerson, Nesting::nested)->start, 1u);
}

TEST(Choose, TheClusterIsAPersonsWord) {
  for (const Nesting nesting : kBoth) {
    std::vector<Step> path = three(0, 0, 0);
    path.push_back(step(Level::cluster, 1, 1));
    EXPECT_LE(choose(path, kPerson, nesting)->start, 2u);
    EXPECT_EQ(choose(path, kPerson, nesting)->expected, Seconds(900 + 3600))
        << "the lowest cost that ends with a person";
    EXPECT_EQ(fixed_top_down(path, kPerson, nesting)->start, 2u);
    const std::vector<Step> only = {step(Level::cluster, 1, 1)};
    EXPECT_FALSE(choose(only, kPerson, nesting));
    EXPECT_FALSE(fixed_bottom_up(only, kPerson, nesting));
    EXPECT_FALSE(fixed_top_down(only, kPerson, nesting));
    EXPECT_FALSE(choose({}, kPerson, nesting));
  }
}

TEST(Choose, OfEqualTimesTheLowest) {
  const std::vector<Step> path = {step(Level::node, 60, 1), step(Level::domain, 60, 1)};
  for (const Nesting nesting : kBoth) EXPECT_EQ(choose(path, kPerson, nesting)->start, 0u);
}

TEST(Choose, IsNeverWorseThanEitherFixedOne) {
  RandomPaths paths;
  for (int i = 0; i < 5000; ++i) {
    const auto path = paths.next();
    for (const Nesting nesting : kBoth) {
      const Seconds ours = choose(path, kPerson, nesting)->expected;
      EXPECT_LE(ours, fixed_bottom_up(path, kPerson, nesting)->expected);
      EXPECT_LE(ours, fixed_top_down(path, kPerson, nesting)->expected);
    }
  }
}

TEST(Choose, AChanceThatGrowsMakesNothingLonger) {
  RandomPaths paths;
  for (int i = 0; i < 2000; ++i) {
    auto path = paths.next();
    const std::size_t k = static_cast<std::size_t>(paths.one() * static_cast<double>(path.size()));
    for (const Nesting nesting : kBoth) {
      auto better = path;
      better[k].cures += (1 - better[k].cures) * paths.one();
      EXPECT_LE(choose(better, kPerson, nesting)->expected, choose(path, kPerson, nesting)->expected);
    }
  }
}

TEST(Choose, AStartStaysBestWhenItTakesLess) {
  RandomPaths paths;
  for (int i = 0; i < 2000; ++i) {
    const auto path = paths.next();
    for (const Nesting nesting : kBoth) {
      const Choice before = *choose(path, kPerson, nesting);
      auto quicker = path;
      quicker[before.start].takes *= paths.one();
      // Those that begin lower come by it as well, with a chance of at most 1: they gain no more than it
      // does.
      EXPECT_LE(choose(quicker, kPerson, nesting)->start, before.start);
      EXPECT_LE(choose(quicker, kPerson, nesting)->expected, before.expected);
    }
  }
}

// Both ways of reckoning are one where there is nothing below.
TEST(Choose, NestingMattersOnlyToThoseWhoSkip) {
  RandomPaths paths;
  for (int i = 0; i < 1000; ++i) {
    const auto path = paths.next();
    const auto nested = expected_times(path, kPerson, Nesting::nested), apart = expected_times(path, kPerson);
    EXPECT_EQ(nested[0], apart[0]);
    for (std::size_t k = 1; k < path.size(); ++k) EXPECT_LE(nested[k], apart[k]);
  }
}

TEST(Choose, ChancesOutsideOfTheirRangeAreTakenAsItsEnds) {
  for (const Nesting nesting : kBoth) {
    EXPECT_EQ(choose(three(1.5, 0, 0), kPerson, nesting)->expected, Seconds(10));
    EXPECT_EQ(expected_times(three(-1, 1, 1), kPerson, nesting)[0], Seconds(310));
  }
}

}  // namespace
}  // namespace sickbay::recover
