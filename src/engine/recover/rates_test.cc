// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/rates.h"

#include <gtest/gtest.h>

#include "engine/recover/choose.h"

namespace sickbay::recover {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kStart = from_unix_seconds(1'800'000'000);
const std::string kCell = "n3/slurmd", kKind = "component slurmd";
const std::string kFault = fault_kind(FaultClass::component, "slurmd");

void restart(Rates& rates, const std::string& cell, bool cured, Micros took = Micros(0), int times = 1) {
  for (int i = 0; i < times; ++i) rates.restarted(cell, kKind, Level::component, kFault, cured, took);
}
double rate(const Rates& rates, const std::string& cell = kCell) {
  return rates.cure_rate(cell, kKind, Level::component, kFault);
}

TEST(Rates, NothingIsKnownBeforeAnythingWasSeen) {
  Rates rates;
  EXPECT_FALSE(rates.mttf(kCell));
  EXPECT_FALSE(rates.mttr(kCell));
  EXPECT_FALSE(rates.restart_time(kCell, kKind));
  rates.observed_at(kStart);
  rates.observed_at(kStart + hours(240));
  EXPECT_FALSE(rates.mttf(kCell)) << "it never failed: that is no MTTF";
  EXPECT_EQ(rates.observed(), hours(240));
  EXPECT_EQ(rates.record(kCell), nullptr);
}

TEST(Rates, FailuresAndTheirEndsOverTheTimeObserved) {
  Rates rates;
  rates.observed_at(kStart);
  for (int i = 0; i < 4; ++i) rates.failed(kCell, kKind, Level::component);
  rates.recovered(kCell, kKind, Level::component, seconds(30));
  rates.recovered(kCell, kKind, Level::component, seconds(50));
  rates.observed_at(kStart + hours(40));
  rates.observed_at(kStart + hours(39));  // a clock that was set back
  EXPECT_EQ(rates.mttf(kCell), hours(10));
  EXPECT_EQ(rates.mttr(kCell), seconds(40));
  EXPECT_EQ(rates.record(kCell)->failures, 4);
  EXPECT_EQ(rates.record_of_kind(kKind)->failures, 4);
}

TEST(Rates, ARestartTakesWhatMostDid) {
  Rates rates;
  restart(rates, "n4/slurmd", true, seconds(90));
  EXPECT_EQ(rates.restart_time(kCell, kKind), seconds(90)) << "as on the other nodes";
  for (const int took : {12, 11, 900, 10, 13}) restart(rates, kCell, true, seconds(took));
  EXPECT_EQ(rates.restart_time(kCell, kKind), seconds(12)) << "its own, and one that hung does not bend it";
  restart(rates, kCell, true);  // not measured
  EXPECT_EQ(rates.restart_time(kCell, kKind), seconds(12));
  restart(rates, kCell, true, seconds(5), 15);
  EXPECT_EQ(rates.restart_time(kCell, kKind), seconds(5)) << "old ones are forgotten";
}

TEST(Rates, ThePriorFavoursTheLowest) {
  const Rates rates;
  const auto q = [&](Level level) { return rates.cure_rate("n3", "x", level, kFault); };
  EXPECT_DOUBLE_EQ(q(Level::component), 0.75);
  EXPECT_LT(q(Level::node), q(Level::component));
  EXPECT_LT(q(Level::group), q(Level::node));
  // So that with the times that are usual the lowest is tried first, wherever the path begins.
  for (const Level from : {Level::component, Level::node, Level::domain}) {
    std::vector<Step> path;
    for (int level = static_cast<int>(from); level <= static_cast<int>(Level::group); ++level)
      path.push_back({0, static_cast<Level>(level), usual_time(static_cast<Level>(level)),
                      q(static_cast<Level>(level))});
    for (const Nesting nesting : {Nesting::nested, Nesting::apart})
      EXPECT_EQ(choose(path, Seconds(3600), nesting)->start, 0u) << to_string(from);
  }
}

TEST(Rates, ItsOwnFaultsOutweighThoseOfItsKind) {
  Rates rates;
  for (int node = 10; node < 60; ++node) restart(rates, "n" + std::to_string(node) + "/slurmd", true);
  const double lent = rate(rates);
  EXPECT_GT(lent, 0.95) << "as on fifty other nodes";
  restart(rates, kCell, false, Micros(0), 4);
  EXPECT_NEAR(rate(rates), lent / 2, 0.01) << "four faults of its own are worth as much as all others";
  restart(rates, kCell, false, Micros(0), 30);
  EXPECT_LT(rate(rates), 0.12);
  EXPECT_GT(rate(rates, "n70/slurmd"), 0.5) << "and the others lose little by it";
}

TEST(Rates, CuresMoveTheRateTheirWay) {
  for (const bool cured : {true, false}) {
    Rates rates;
    double last = rate(rates);
    for (int i = 0; i < 40; ++i) {
      restart(rates, kCell, cured);
      EXPECT_EQ(rate(rates) > last, cured);
      last = rate(rates);
      EXPECT_GT(last, 0);
      EXPECT_LT(last, 1);
    }
  }
}

TEST(Rates, EachClassOfFaultHasItsOwn) {
  Rates rates;
  restart(rates, kCell, false, Micros(0), 20);
  EXPECT_LT(rate(rates), 0.2);
  EXPECT_DOUBLE_EQ(rates.cure_rate(kCell, kKind, Level::component, "network slurmd"), 0.75);
}

TEST(Rates, ACureThatDidNotLastIsTakenBackAndWhatComesAgainBeginsHigher) {
  Rates rates;
  const auto start = [&] {
    const std::vector<Step> path = {{0, Level::component, Seconds(100), rate(rates)},
                                    {0, Level::node, Seconds(120), 0.67}};
    return choose(path, Seconds(600))->start;
  };
  EXPECT_EQ(start(), 0u);
  for (int i = 0; i < 12; ++i) {
    restart(rates, kCell, true);
    rates.take_back_cure(kCell, kKind, Level::component, kFault);
  }
  EXPECT_EQ(rates.record(kCell)->cures.at(kFault), (Cures{12, 0}));
  EXPECT_EQ(start(), 1u);
  rates.take_back_cure(kCell, kKind, Level::component, kFault);
  EXPECT_EQ(rates.record(kCell)->cures.at(kFault), (Cures{12, 0})) << "there is none left";
}

TEST(Rates, GroupsAndDomainsAreKeptByKindAlone) {
  Rates rates;
  rates.failed("job:17", "group", Level::group);
  rates.restarted("job:17", "group", Level::group, "job", true, seconds(60));
  EXPECT_EQ(rates.record("job:17"), nullptr) << "a job is gone one day, and there are many";
  EXPECT_EQ(rates.restart_time("job:18", "group"), seconds(60));
  EXPECT_NEAR(rates.cure_rate("job:18", "group", Level::group, "job"), 2. / 3, 1e-9);
}

TEST(Rates, AllOfItIsInTheText) {
  Rates rates;
  rates.observed_at(kStart);
  rates.failed(kCell, kKind, Level::component);
  restart(rates, kCell, true, seconds(3));
  rates.recovered(kCell, kKind, Level::component, seconds(4));
  EXPECT_EQ(
      rates.canonical_text(),
      "rates from 1800000000000000 to 1800000000000000\n"
      "kind component slurmd: failures 1 recovered 1 down 4000000 took [ 3000000 ] (component slurmd) 1/1\n"
      "cell n3/slurmd: failures 1 recovered 1 down 4000000 took [ 3000000 ] (component slurmd) 1/1\n");
}

TEST(Rates, WhatARebootDoesForOneComponentSaysNothingOfAnother) {
  Rates rates;
  for (int i = 0; i < 20; ++i) {
    rates.restarted("n3", "node", Level::node, "component slurmd", true, Micros(0));
    rates.restarted("n3", "node", Level::node, "component fabric", false, Micros(0));
  }
  EXPECT_GT(rates.cure_rate("n4", "node", Level::node, "component slurmd"), 0.8);
  EXPECT_LT(rates.cure_rate("n4", "node", Level::node, "component fabric"), 0.2);
}

TEST(FaultClasses, WordsAndBack) {
  EXPECT_EQ(fault_kind(FaultClass::network, "opensm"), "network opensm");
  EXPECT_EQ(fault_kind(FaultClass::node, ""), "node");
  for (std::size_t i = 0; i < kFaultClasses; ++i) {
    const auto of = static_cast<FaultClass>(i);
    EXPECT_EQ(fault_class_from(to_string(of)), of);
  }
  EXPECT_FALSE(fault_class_from("disk"));
}

}  // namespace
}  // namespace sickbay::recover
