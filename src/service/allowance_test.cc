// SPDX-License-Identifier: Apache-2.0
#include "service/allowance.h"

#include <gtest/gtest.h>

namespace sickbay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

const TimePoint kBegin = from_unix_seconds(1'700'000'000);

TEST(Allowance, SavesUpToItsBoundAndLetsOwe) {
  Allowance some(100, 60);
  EXPECT_DOUBLE_EQ(some.left(kBegin), 100);
  EXPECT_EQ(some.ready(kBegin), kBegin);
  some.spend(90, kBegin);
  EXPECT_DOUBLE_EQ(some.left(kBegin), 10);
  EXPECT_DOUBLE_EQ(some.left(kBegin + minutes(30)), 40);
  EXPECT_DOUBLE_EQ(some.left(kBegin + hours(30)), 100);
  some.spend(130, kBegin);  // who has some may take more, once
  EXPECT_DOUBLE_EQ(some.left(kBegin), -120);
  EXPECT_FALSE(some.is_whole(kBegin));
  const TimePoint ready = some.ready(kBegin);
  EXPECT_GE(ready, kBegin + hours(2));
  EXPECT_LE(ready, kBegin + hours(2) + seconds(2));
  EXPECT_GT(some.left(ready), 0);
  EXPECT_TRUE(some.is_whole(kBegin + hours(4)));
}

TEST(Allowance, NothingLeftIsNotSome) {
  Allowance some(1, 3600);
  some.spend(1, kBegin);
  EXPECT_GT(some.ready(kBegin), kBegin);
}

TEST(Allowance, AClockThatStepsBackGivesNothing) {
  Allowance some(100, 60);
  some.spend(100, kBegin);
  EXPECT_DOUBLE_EQ(some.left(kBegin - hours(5)), 0);
  some.spend(1, kBegin - hours(5));
  EXPECT_DOUBLE_EQ(some.left(kBegin + hours(1)), 59);
}

}  // namespace
}  // namespace sickbay
