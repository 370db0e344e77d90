// SPDX-License-Identifier: Apache-2.0
#include "service/pace.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kStart{1'000s};

TEST(ShareOfTime, ALookIsReadyAtOnceAtFirstAndAfterARest) {
  ShareOfTime share;
  EXPECT_LE(share.ready(), kStart);
  share.spend(3ms, kStart);
  EXPECT_LE(share.ready(), kStart);
}

// A flood: each look begins as soon as it may.
TEST(ShareOfTime, HoldsOverAnyTimeButForWhatWasSaved) {
  for (const Micros cost : {Micros(500us), Micros(3ms), Micros(40ms), Micros(700ms)}) {
    ShareOfTime share;
    TimePoint now = kStart;
    Micros spent{0};
    while (now < kStart + 60s) {
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
  share.spend(1ms, kStart);
  TimePoint now = kStart + 1h;
  int at_once = 0;
  for (; share.ready() <= now; ++at_once) share.spend(10ms, now);
  EXPECT_EQ(at_once, 6) << "50 ms saved, and the one that goes beyond";
}

TEST(ShareOfTime, ACheapLookBehindADearOneWaits) {
  ShareOfTime share;
  share.spend(200ms, kStart);
  EXPECT_EQ(share.ready(), kStart + 3s);
  EXPECT_EQ((share.spend(0ms, kStart + 1s), share.ready()), kStart + 3s);
}

TEST(ShareOfTime, AClockThatStepsBackPaysNothingOff) {
  ShareOfTime share;
  share.spend(200ms, kStart);
  share.spend(0ms, kStart - 100s);
  EXPECT_EQ(share.ready(), kStart - 100s + 3s);
}

}  // namespace
}  // namespace sickbay
