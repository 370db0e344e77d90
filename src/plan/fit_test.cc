// SPDX-License-Identifier: Apache-2.0
// The fit finds what made a list.  Lists are made with seeds, so each test is one computation.
#include "plan/fit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plan/minimise.h"

namespace sickbay::plan {
namespace {

constexpr double kYear = 8766;

TimePoint at_hour(double hours) {
  return from_unix_seconds(1'000'000'000) + Micros(static_cast<std::int64_t>(hours * 3.6e9));
}

struct Maker {
  std::size_t nodes = 100;
  double hours = kYear, mean_h = 500, shape = 1, spread = 0, repair_h = 5, repair_sigma = 0;
  std::function<double(double)> rate = [](double) { return 1.0; };  ///< by the hour; must be at most 1
};

System made(const Maker& maker, std::uint64_t seed) {
  Random random(seed);
  System one;
  for (std::size_t i = 0; i < maker.nodes; ++i) {
    one.nodes.push_back(fmt::format("n{}", i));
    const double speed = maker.spread == 0 ? 1 : random.gamma(maker.spread) / maker.spread;
    double at = 0;
    while (true) {
      at += maker.mean_h / std::tgamma(1 + 1 / maker.shape) *
            std::pow(random.exponential() / speed, 1 / maker.shape);
      if (at >= maker.hours) break;
      if (random.uniform() > maker.rate(at)) continue;
      const double repair = maker.repair_sigma == 0
                                ? maker.repair_h * random.exponential()
                                : maker.repair_h * std::exp(maker.repair_sigma * random.normal());
      one.failures.push_back({static_cast<std::uint32_t>(i), at_hour(at), at_hour(at + repair)});
      at += repair;
    }
  }
  std::sort(one.failures.begin(), one.failures.end(),
            [](const Failure& a, const Failure& b) { return a.start < b.start; });
  return one;
}

Model fitted(const Maker& maker, std::uint64_t seed) {
  auto model = fit_model(made(maker, seed), 0, at_hour(0), at_hour(maker.hours));
  EXPECT_TRUE(model);
  return model ? *model : Model();
}

TEST(Minimise, FindsTheValleyOfRosenbrock) {
  const Minimum least = minimise(
      [](const std::vector<double>& x) {
        return 100 * std::pow(x[1] - x[0] * x[0], 2) + std::pow(1 - x[0], 2);
      },
      {-1.2, 1}, 0.5, 2000);
  EXPECT_NEAR(least.at[0], 1, 1e-3);
  EXPECT_NEAR(least.at[1], 1, 1e-3);
}

TEST(Fit, ExponentialMeanIsServiceByFailures) {
  // Two nodes, two failures each, in 100 h: the closed form needs no list of chance.
  System one;
  one.nodes = {"a", "b"};
  for (const auto& [node, start, end] : {std::tuple{0U, 10.0, 12.0},
                                         {1U, 30.0, 31.0},
                                         {0U, 50.0, 53.0},
                                         {1U, 70.0, 74.0},
                                         {0U, 60.0, 61.0},
                                         {1U, 80.0, 81.0},
                                         {0U, 90.0, 91.0},
                                         {1U, 95.0, 96.0}})
    one.failures.push_back({node, at_hour(start), at_hour(end)});
  std::sort(one.failures.begin(), one.failures.end(),
            [](const Failure& a, const Failure& b) { return a.start < b.start; });
  const auto model = fit_model(one, 0, at_hour(0), at_hour(100));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->failures, 8U);
  EXPECT_NEAR(model->down_h, 14, 1e-6);
  EXPECT_NEAR(model->up.mean_h, (200 - 14.0) / 8, 1e-6);
  EXPECT_EQ(model->most_down, 1U);
  EXPECT_NEAR(model->failures_per_node_hour(), 8 / 186.0, 1e-6);
}

// Each law and whether nodes differ is told from the others, with its parameters.
TEST(Fit, FindsTheLawThatMadeTheList) {
  const struct {
    const char* name;
    double shape, spread;
  } rows[] = {
      {"exponential, nodes alike", 1, 0},  {"Weibull, nodes alike", 0.6, 0},
      {"Weibull, nodes alike", 2, 0},      {"exponential, nodes differ", 1, 0.7},
      {"Weibull, nodes differ", 0.6, 0.7},
  };
  for (const auto& row : rows) {
    Maker maker;
    maker.shape = row.shape;
    maker.spread = row.spread;
    const Model model = fitted(maker, 7);
    std::string chosen;
    for (const Choice& c : model.up.tried)
      if (c.chosen) chosen = c.name;
    EXPECT_EQ(chosen, row.name);
    EXPECT_NEAR(model.up.shape, row.shape, 0.12 * row.shape) << row.name;
    EXPECT_NEAR(model.up.spread, row.spread, 0.5 * row.spread) << row.name;
    EXPECT_TRUE(model.bursts.repairs_h.empty()) << row.name;
  }
}

TEST(Fit, FindsTheLawOfRepairs) {
  Maker maker;
  const Model exponential = fitted(maker, 3);
  EXPECT_EQ(exponential.repair.law, RepairLaw::exponential);
  EXPECT_NEAR(exponential.repair.mean_h, 5, 0.4);
  EXPECT_TRUE(exponential.repair.level.constant());
  maker.repair_sigma = 1.5;
  const Model lognormal = fitted(maker, 3);
  EXPECT_EQ(lognormal.repair.law, RepairLaw::lognormal);
  EXPECT_NEAR(lognormal.repair.mu, std::log(5), 0.15);
  EXPECT_NEAR(lognormal.repair.sigma, 1.5, 0.1);
  // Two kinds of repairs, as reboots and replacements are, are neither.
  System mixed = made(Maker{}, 3);
  for (std::size_t i = 0; i < mixed.failures.size(); ++i)
    mixed.failures[i].end = mixed.failures[i].start + Micros(i % 3 == 0 ? 72'000'000'000 : 600'000'000);
  const auto empirical = fit_model(mixed, 0, at_hour(0), at_hour(kYear));
  ASSERT_TRUE(empirical);
  EXPECT_EQ(empirical->repair.law, RepairLaw::empirical);
  EXPECT_NEAR(empirical->repair.mean_h, 20.0 / 3 + 2 / 18.0, 0.2);
}

TEST(Fit, RepairsThatHadNotEndedCountAsLonger) {
  Maker maker;
  maker.repair_h = 300;
  maker.mean_h = 1000;
  const System all = made(maker, 5);
  const auto model = fit_model(all, 0, at_hour(0), at_hour(kYear / 4));
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->repair.mean_h, 300, 60);
}

TEST(Fit, FindsBurstsAndLeavesThemOutOfTheNodesOwnLaw) {
  Maker maker;
  maker.mean_h = 3000;
  System one = made(maker, 11);
  const std::size_t alone = one.failures.size();
  for (int burst = 0; burst < 12; ++burst)
    for (std::uint32_t node = 0; node < 20; ++node)
      one.failures.push_back({node, at_hour(300 + 600 * burst + node / 60.0), at_hour(304 + 600 * burst)});
  std::sort(one.failures.begin(), one.failures.end(),
            [](const Failure& a, const Failure& b) { return a.start < b.start; });
  const auto model = fit_model(one, 0, at_hour(0), at_hour(kYear));
  ASSERT_TRUE(model);
  EXPECT_NEAR(static_cast<double>(model->alone), static_cast<double>(alone), 6);
  std::size_t large = 0;
  for (const auto& burst : model->bursts.repairs_h) large += burst.size() >= 20;
  EXPECT_EQ(large, 12U);
  EXPECT_NEAR(model->up.mean_h, 3000, 400);
}

TEST(Fit, SeesARateThatFell) {
  Maker maker;
  maker.rate = [](double hour) { return hour < kYear / 2 ? 1 : 0.25; };
  const Model model = fitted(maker, 13);
  EXPECT_FALSE(model.rate.constant());
  EXPECT_NEAR(std::exp(model.rate.level), 0.25 / 0.625, 0.1);
  const Model steady = fitted(Maker{}, 13);
  EXPECT_TRUE(steady.rate.constant());
}

TEST(Fit, RefusesWhatIsTooLittle) {
  System one = made(Maker{}, 1);
  EXPECT_FALSE(fit_model(one, 0, at_hour(0), at_hour(0)));
  EXPECT_FALSE(fit_model(one, 50, at_hour(0), at_hour(kYear)));
  one.failures.resize(kLeastFailures - 1);
  const auto few = fit_model(one, 0, at_hour(0), at_hour(kYear));
  ASSERT_FALSE(few);
  EXPECT_EQ(few.error().code, ErrorCode::bad_input);
}

TEST(Fit, SaysWhatItChoseAndWhy) {
  const auto lines = describe(fitted(Maker{}, 7));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[0], ::testing::HasSubstr("exponential, nodes alike (AIC of the others: "));
  EXPECT_THAT(lines[1], ::testing::HasSubstr("none"));
  EXPECT_THAT(lines[2], ::testing::HasSubstr("exponential"));
}

TEST(LocalLevel, FuturesOfAConstantScatterByItsErrorAlone) {
  LocalLevel level;
  level.variance = 0.01;
  Random random(5);
  double sum = 0, squares = 0;
  constexpr int kRuns = 4000;
  for (int i = 0; i < kRuns; ++i) {
    const auto factors = future_of(level, 3, random);
    EXPECT_EQ(factors[0], factors[2]);
    sum += std::log(factors[0]);
    squares += std::log(factors[0]) * std::log(factors[0]);
  }
  EXPECT_NEAR(sum / kRuns, 0, 0.006);
  EXPECT_NEAR(squares / kRuns, 0.01, 0.001);
}

TEST(Random, HasTheMomentsOfItsLaws) {
  Random random(1);
  const struct {
    const char* name;
    std::function<double()> draw;
    double mean, variance;
  } rows[] = {
      {"uniform", [&] { return random.uniform(); }, 0.5, 1.0 / 12},
      {"below", [&] { return static_cast<double>(random.below(7)); }, 3, 4},
      {"exponential", [&] { return random.exponential(); }, 1, 1},
      {"normal", [&] { return random.normal(); }, 0, 1},
      {"gamma 0.5", [&] { return random.gamma(0.5); }, 0.5, 0.5},
      {"gamma 3", [&] { return random.gamma(3); }, 3, 3},
  };
  constexpr int kDraws = 200'000;
  for (const auto& row : rows) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double x = row.draw();
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, row.mean, 5 * std::sqrt(row.variance / kDraws)) << row.name;
    EXPECT_NEAR(squares / kDraws - mean * mean, row.variance, 0.03 * row.variance) << row.name;
  }
  // Streams of one seed differ, and the same one repeats.
  EXPECT_EQ(Random(4, 2).bits(), Random(4, 2).bits());
  EXPECT_NE(Random(4, 2).bits(), Random(4, 3).bits());
}

}  // namespace
}  // namespace sickbay::plan
