// SPDX-License-Identifier: Apache-2.0
#include "plan/answers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/checkpoint_interval.h"
#include "plan/validate.h"

namespace sickbay::plan {
namespace {

TEST(Answers, QuantilesLieBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({3, 1, 2}, 0.5), 2);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.25), 2.5);
  EXPECT_DOUBLE_EQ(quantile({7}, 0.95), 7);
  const Figure figure = figure_of({1, 2, 3, 4, 5});
  EXPECT_DOUBLE_EQ(figure.mean, 3);
  EXPECT_NEAR(figure.error, 2.132 * std::sqrt(2.5 / 5), 0.03);  // Student's t of 4
}

// With jobs of one node and no memory the answer is the binomial's: a job that fails meets so many others
// down.
TEST(Answers, SparesAreThoseOfTheFormula) {
  constexpr std::size_t kNodes = 100;
  constexpr double kUp = 400, kRepair = 20, kDown = kRepair / (kUp + kRepair);
  Question question;
  question.setting.nodes = kNodes;
  question.setting.hours = 4000;
  question.setting.job = {1, 5, 5, 0, 0, true, 0};
  question.replications = 40;
  // A job of 5 h fails hardly ever, and hardly ever twice: it waits where it fails and meets too many.
  for (const double wanted : {0.995, 0.999}) {
    const SparesAnswer answer = how_many_spares(memoryless(kNodes, kUp, kRepair), question, wanted);
    const double fails = 1 - std::exp(-5 / kUp);
    std::size_t spares = 0;
    double below = 0;
    for (;; ++spares) {
      const auto d = static_cast<double>(spares), n = static_cast<double>(kNodes - 1);
      if (spares > 0) {
        const double k = d - 1;
        below += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                          k * std::log(kDown) + (n - k) * std::log(1 - kDown));
      }
      if (fails * (1 - below) <= 1 - wanted) break;
    }
    EXPECT_LE(answer.low, spares) << wanted;
    EXPECT_GE(answer.high, spares) << wanted;
    EXPECT_NEAR(static_cast<double>(answer.spares), static_cast<double>(spares), 1) << wanted;
    EXPECT_GE(answer.reached, wanted);
    for (std::size_t i = 1; i < answer.curve.size(); ++i)
      EXPECT_GE(answer.curve[i].never_waits.mean, answer.curve[i - 1].never_waits.mean);
  }
}

TEST(Answers, TheBestIntervalIsDalysWhereFailuresHaveNoMemory) {
  Question question;
  question.setting.nodes = 100;
  question.setting.never_wait = true;
  question.setting.hours = 8766;
  question.setting.job = {100, 400, 1, 0.1, 0.1, true, 0};
  question.replications = 40;
  const IntervalAnswer answer = which_interval(memoryless(100, 2000, 1e-6), question);
  EXPECT_NEAR(answer.mtbf_h, 20, 1e-9);
  EXPECT_NEAR(answer.daly_h, daly_interval(0.1, 20), 1e-9);
  EXPECT_LE(answer.low_h, answer.daly_h * 1.001);
  EXPECT_GE(answer.high_h, answer.daly_h * 0.999);
  EXPECT_NEAR(answer.by_best, answer.by_daly, 0.003);
  EXPECT_EQ(answer.curve.size(), 17U);
}

TEST(Answers, TwiceAsFastRepairsAreWorthHalfOfWhatIsDown) {
  Question question;
  question.setting.nodes = 200;
  question.setting.spares = 100;
  question.replications = 40;
  question.setting.job = {10, 24, 2, 0.01, 0.01, true, 0};
  const RepairAnswer answer = worth_of_repair(memoryless(200, 1000, 20), question, 2);
  const double gained = 200 * 8766 * (20.0 / 1020 - 10.0 / 1010);
  EXPECT_NEAR(answer.gained_h.mean, gained, 0.03 * gained);
  EXPECT_LT(answer.gained_h.low, gained);
  EXPECT_GT(answer.gained_h.high, gained);
  EXPECT_NEAR(answer.waiting_h.mean, 0, 1e-9);
  EXPECT_NEAR(answer.mean_before_h, 20, 1);
  EXPECT_NEAR(answer.mean_after_h, 10, 0.5);
}

// A list that is what the model thinks: the interval of 90 % must hold about as often as it says, over many.
TEST(Validate, HoldsForListsThatTheModelMade) {
  FailureList list;
  for (int s = 0; s < 6; ++s) {
    Random random(100 + static_cast<std::uint64_t>(s));
    System one;
    one.name = std::to_string(s);
    const auto stamp = [](double hours) {
      return from_unix_seconds(1'000'000'000) + Micros(static_cast<std::int64_t>(hours * 3.6e9));
    };
    for (std::uint32_t i = 0; i < 60; ++i) {
      one.nodes.push_back(std::to_string(i));
      for (double at = 800 * random.exponential(); at < 8766;) {
        const double repair = 6 * random.exponential();
        one.failures.push_back({i, stamp(at), stamp(at + repair)});
        at += repair + 800 * random.exponential();
      }
    }
    std::sort(one.failures.begin(), one.failures.end(),
              [](const Failure& a, const Failure& b) { return a.start < b.start; });
    one.from = stamp(0);
    one.until = stamp(8766);
    list.systems.push_back(std::move(one));
  }
  const Validation result = validate(
      list, [](const System&) { return 0; }, 150, 1);
  EXPECT_EQ(result.cuts.size(), list.systems.size() * std::size(kCuts));
  const auto [all, good] = result.held("");
  EXPECT_EQ(all, result.cuts.size() * std::size(kPredicted));
  EXPECT_GT(static_cast<double>(good), 0.82 * static_cast<double>(all));
  for (const Cut& cut : result.cuts) {
    bool held = true;
    for (const Check& check : cut.checks) held = held && check.held();
    EXPECT_EQ(cut.why.empty(), held);
  }
}

TEST(Validate, TellsWhatHadChanged) {
  System one;
  one.nodes = {"a", "b"};
  const auto stamp = [](int hour) { return from_unix_seconds(1'000'000'000) + std::chrono::hours(hour); };
  for (int i = 0; i < 200; ++i)
    one.failures.push_back({static_cast<std::uint32_t>(i % 2), stamp(10 * i), stamp(10 * i + 1)});
  for (int i = 0; i < 60; ++i)
    one.failures.push_back(
        {static_cast<std::uint32_t>(i % 2), stamp(2000 + 40 * i), stamp(2000 + 40 * i + 30)});
  one.from = stamp(0);
  one.until = stamp(4400);
  FailureList list;
  list.systems.push_back(one);
  const Validation result = validate(
      list, [](const System&) { return 2; }, 100, 1);
  ASSERT_FALSE(result.cuts.empty());
  ASSERT_FALSE(result.cuts[0].why.empty());
  EXPECT_NE(result.cuts[0].why[0].find("the rate of failures was"), std::string::npos);
}

}  // namespace
}  // namespace sickbay::plan
