// SPDX-License-Identifier: Apache-2.0
// The simulation against closed formulas: each figure must lie within its own interval of confidence.
//
// The intervals are those of 99.9 %: with fixed seeds a test says the same on every day, and a formula that
// does not hold is far outside.
#include "plan/simulate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "plan/job_clock.h"

namespace sickbay::plan {
namespace {

template <class Figure>
void expect_mean(const Model& model, const Setting& setting, int replications, double wanted, Figure figure,
                 const std::string& about) {
  double sum = 0, squares = 0;
  for (int i = 0; i < replications; ++i) {
    const double x = figure(simulate(model, setting, 42, static_cast<std::uint64_t>(i)));
    sum += x;
    squares += x * x;
  }
  const double n = replications, mean = sum / n;
  const double error = std::sqrt(std::max(squares / n - mean * mean, 0.0) / (n - 1));
  EXPECT_NEAR(mean, wanted, 3.3 * error + 1e-9) << about << ": error " << error;
  EXPECT_LT(error, 0.03 * std::abs(wanted)) << about << ": says nothing";
}

TEST(Simulate, AvailabilityIsThatOfTheFormula) {
  const struct {
    std::size_t nodes;
    double up, repair;
  } rows[] = {{1, 100, 10}, {50, 1000, 24}, {500, 3000, 2}, {20, 10, 10}};
  for (const auto& row : rows) {
    Setting setting;
    setting.nodes = row.nodes;
    expect_mean(
        memoryless(row.nodes, row.up, row.repair), setting, 60, row.repair / (row.up + row.repair),
        [](const Outcome& o) { return 1 - o.availability(); }, fmt::format("{} nodes", row.nodes));
    expect_mean(
        memoryless(row.nodes, row.up, row.repair), setting, 60,
        8766 * static_cast<double>(row.nodes) / (row.up + row.repair),
        [](const Outcome& o) { return static_cast<double>(o.failures); }, "failures");
  }
}

// Nodes of their own are down independently of each other: a failure that hits a node at work meets a
// binomial number of others that are down, and waits where that number reaches the spares.
TEST(Simulate, FailuresFindASpareAsOftenAsTheBinomialSays) {
  constexpr std::size_t kNodes = 60;
  constexpr double kUp = 300, kRepair = 20, kDown = kRepair / (kUp + kRepair);
  for (const bool never_wait : {true, false}) {
    Setting setting;
    setting.nodes = kNodes;
    setting.spares = never_wait ? 0 : 5;
    setting.never_wait = never_wait;
    for (const std::size_t spares : {3U, 5U, 7U}) {
      if (!never_wait && spares != 5) continue;
      // Of states with d down, failures of nodes at work come at the rate of those that are up and no idle
      // spares.
      double all = 0, found = 0;
      for (std::size_t d = 0; d < kNodes; ++d) {
        const auto x = static_cast<double>(d), n = static_cast<double>(kNodes);
        const double p = std::exp(std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                                  x * std::log(kDown) + (n - x) * std::log(1 - kDown));
        const std::size_t idle = setting.spares - std::min(d, setting.spares);
        const double rate = p * static_cast<double>(kNodes - d - idle);
        all += rate;
        if (d + 1 <= spares) found += rate;
      }
      expect_mean(
          memoryless(kNodes, kUp, kRepair), setting, 80, found / all,
          [&](const Outcome& o) { return o.finds_spare(spares); },
          fmt::format("{} spares, never_wait {}", spares, never_wait));
    }
  }
}

// Daly 2006: the time to finish under failures without memory, also during checkpoints and restarts, is
// M e^(R/M) (e^((t+C)/M) - 1) H/t, where a checkpoint stands behind each of the H/t stretches.
TEST(Simulate, TimeToFinishIsDalys) {
  const struct {
    double mtbf, interval, cost, restart;
  } rows[] = {{10, 1, 0.05, 0.1}, {10, 4, 0.2, 0.5}, {3, 1, 0.25, 1}, {50, 20, 0.5, 0}};
  for (const auto& row : rows) {
    Setting setting;
    setting.nodes = 10;
    setting.spares = 0;
    setting.never_wait = true;
    setting.hours = 20'000;
    setting.job = {10, row.interval * 400, row.interval, row.cost, row.restart, true, 0};
    const double wanted = row.interval / (row.mtbf * std::exp(row.restart / row.mtbf) *
                                          (std::exp((row.interval + row.cost) / row.mtbf) - 1));
    // Repairs in no time: the rate of failures is that of all ten.
    expect_mean(
        memoryless(10, 10 * row.mtbf, 1e-6), setting, 40, wanted,
        [](const Outcome& o) { return o.efficiency(); }, fmt::format("interval {}", row.interval));
  }
}

TEST(Simulate, NothingOfAJobsTimeIsUnaccounted) {
  for (const std::size_t spares : {0U, 2U, 10U})
    for (const bool replaced : {true, false}) {
      Setting setting;
      setting.nodes = 50;
      setting.spares = spares;
      setting.hours = 2000;
      setting.job = {16, 30, 2, 0.1, 0.2, replaced, 1.5};
      const Outcome o = simulate(memoryless(50, 150, 12), setting, 1, 0);
      EXPECT_NEAR(o.useful_h + o.lost_h + o.checkpoint_h + o.restart_h + o.waiting_h, o.job_time_h, 1e-6);
      const double places = std::floor((50.0 - static_cast<double>(spares)) / 16);
      EXPECT_NEAR(o.job_time_h, places * 2000, 1e-6);
      EXPECT_EQ(o.jobs, o.times_h.size());
      EXPECT_EQ(o.jobs, std::accumulate(o.jobs_by_down.begin(), o.jobs_by_down.end(), std::size_t{0}));
      EXPECT_EQ(o.hits, std::accumulate(o.hits_by_down.begin(), o.hits_by_down.end(), std::size_t{0}));
      for (const float time : o.times_h) EXPECT_GE(time, 30 + 14 * 0.1 - 1e-4);
    }
}

// Without failures a job takes its work and its checkpoints, of which there is none at its end.
TEST(JobClock, CountsCheckpointsBetweenStretchesOnly) {
  const struct {
    double hours, interval;
    int checkpoints;
  } rows[] = {{10, 1, 9}, {10, 3, 3}, {10, 10, 0}, {10, 50, 0}, {0.3, 0.1, 2}};
  for (const auto& row : rows) {
    const Job job{1, row.hours, row.interval, 0.25, 0, true, 0};
    JobClock clock(job);
    Outcome out;
    const double takes = row.hours + 0.25 * row.checkpoints;
    clock.go_on(takes * 3 + takes / 2, out);
    EXPECT_EQ(out.jobs, 3U) << row.hours << "/" << row.interval;
    EXPECT_NEAR(out.times_h.at(0), takes, 1e-4);
  }
}

TEST(JobClock, AFailureTakesWhatWasNotSaved) {
  const Job job{1, 10, 2, 0.5, 1, false, 3};
  JobClock clock(job);
  Outcome out;
  clock.go_on(3.5, out);  // 2 of work, 0.5 saving, 1 of work
  clock.fail(1, out);
  EXPECT_DOUBLE_EQ(out.useful_h, 2);
  EXPECT_DOUBLE_EQ(out.lost_h, 1);
  EXPECT_DOUBLE_EQ(out.checkpoint_h, 0.5);
  clock.go_on(3.5 + 3 + 1 + 1, out);  // queue, restart, 1 of work
  EXPECT_DOUBLE_EQ(out.waiting_h, 3);
  EXPECT_DOUBLE_EQ(out.restart_h, 1);
  EXPECT_DOUBLE_EQ(out.useful_h, 3);
  clock.wait();
  clock.go_on(100, out);
  EXPECT_DOUBLE_EQ(out.useful_h, 3);
  clock.got_node();
  clock.go_on(100 + 7 + 3 * 0.5, out);
  EXPECT_EQ(out.jobs, 1U);
}

// A model of any kind keeps the rate of its list: shapes, differing nodes and bursts only spread it.
TEST(Simulate, EveryLawKeepsTheMeanRate) {
  for (const double shape : {0.6, 1.0, 2.0})
    for (const double spread : {0.0, 0.8}) {
      Model model = memoryless(200, 400, 0.01);
      model.up.shape = shape;
      model.up.spread = spread;
      // (A burst makes nodes young again, which counts where age does.)
      const bool bursts = shape == 1;
      if (bursts) {
        model.bursts.per_h = 0.01;
        model.bursts.repairs_h = {{1, 1, 1}, {2, 2, 2, 2, 2}};
      }
      Setting setting;
      setting.nodes = 200;
      setting.hours = 2000;
      const double wanted = 2000 * (200 / 400.0 + (bursts ? 0.01 * 4 : 0));
      double sum = 0;
      for (int i = 0; i < 40; ++i)
        sum += static_cast<double>(simulate(model, setting, 3, static_cast<std::uint64_t>(i)).failures);
      EXPECT_NEAR(sum / 40, wanted, 0.05 * wanted) << shape << " " << spread;
    }
}

TEST(Simulate, OneSeedIsOneResultAndTheJobChangesNoFailure) {
  const Model model = memoryless(100, 500, 10);
  Setting a;
  a.nodes = 100;
  a.job.nodes = 10;
  Setting b = a;
  b.job.interval_h = 5;
  b.spares = 7;
  const Outcome x = simulate(model, a, 9, 4), y = simulate(model, a, 9, 4), z = simulate(model, b, 9, 4);
  EXPECT_EQ(x.hits_by_down, y.hits_by_down);
  EXPECT_EQ(x.useful_h, y.useful_h);
  EXPECT_EQ(x.failures, z.failures);
  EXPECT_EQ(x.down_h, z.down_h);
  EXPECT_NE(simulate(model, a, 9, 5).down_h, x.down_h);
}

TEST(Simulate, RebootsThatCureShortenWhatIsDown) {
  const Model model = memoryless(100, 500, 10);
  Setting setting;
  setting.nodes = 100;
  setting.repairs = {1, 0.8, 0.1};
  expect_mean(
      model, setting, 60, (0.2 * 10 + 0.8 * 0.1) / (500 + 0.2 * 10 + 0.8 * 0.1),
      [](const Outcome& o) { return 1 - o.availability(); }, "reboots");
  setting.repairs = {0.5, 0, 0};
  expect_mean(
      model, setting, 60, 5 / 505.0, [](const Outcome& o) { return 1 - o.availability(); }, "factor");
}

}  // namespace
}  // namespace sickbay::plan
