// SPDX-License-Identifier: Apache-2.0
#include "service/pace.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kFirst{1'000s};

TEST(ShareOfTime, ALookIsReadyAtOnceAtFirstAndAfterARest) {
  ShareOfTime share;
  EXPECT_LE(share.ready(), kFirst);
  share.spend(3ms, kFirst);
  EXPECT_LE(share.ready(), kFirst);
}

TEST(UsualCost, IsNotThatOfTheOneThatWaited) {
  UsualCost cost;
  EXPECT_EQ(cost.get(), 0us);
  cost.add(3ms);
  EXPECT_EQ(cost.get(), 3ms);
  for (const Micros took : {250ms, 250ms}) {
    cost.add(took);
    EXPECT_EQ(cost.get(), 3ms);
  }
  cost.add(250ms);
  EXPECT_EQ(cost.get(), 250ms) << "three times: slurmctld is slow";
  cost.add(2ms);
  EXPECT_EQ(cost.get(), 2ms) << "and is not any more";
}

// A flood: each look begins as soon as it may.
TEST(ShareOfTime, HoldsOverAnyTimeButForWhatWasSaved) {
  for (const Micros cost : {Micros(500us), Micros(3ms), Micros(40ms), Micros(700ms)}) {
    ShareOfTime share;
    TimePoint now = kFirst;
    Micros spent{0};
    while (now < kFirst + 60s) {
      now = std::max(now, share.ready()) + cost;
      spent += cost;
      share.spend(cost, now);
    }
    EXPECT_LE(spent, 60s / kShareOfTime + ShareOfTime::kSaved + 2 * cost) << cost.count();
    EXPECT_GE(spent, 60s / kShareOfTime - 2 * cost) << cost.count();
  }
}

TEST(ShareOfTime, WhatIsSavedIsBounded) {
  ShareOfTime share;
  share.spend(1ms, kFirst);
  TimePoint now = kFirst + 1h;
  int at_once = 0;
  for (; share.ready() <= now; ++at_once) share.spend(10ms, now);
  EXPECT_EQ(at_once, 51) << "500 ms saved, and the one that goes beyond";
}

TEST(ShareOfTime, ACheapLookBehindADearOneWaits) {
  ShareOfTime share;
  share.spend(650ms, kFirst);
  EXPECT_EQ(share.ready(), kFirst + 3s);
  EXPECT_EQ((share.spend(0ms, kFirst + 1s), share.ready()), kFirst + 3s);
}

TEST(ShareOfTime, AClockThatStepsBackPaysNothingOff) {
  ShareOfTime share;
  share.spend(650ms, kFirst);
  share.spend(0ms, kFirst - 100s);
  EXPECT_EQ(share.ready(), kFirst - 100s + 3s);
}

}  // namespace
}  // namespace sickbay
