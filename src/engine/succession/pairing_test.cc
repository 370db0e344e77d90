// SPDX-License-Identifier: Apache-2.0
#include "engine/succession/pairing.h"

#include <gtest/gtest.h>

namespace sickbay::succession {
namespace {

using namespace std::chrono_literals;

// One that has a standby which has all up to 10.
Pairing paired() {
  Pairing p(2s);
  p.committed(10, 0s);
  p.alone_is_known();
  p.standby_has(10);
  EXPECT_TRUE(p.tick(0s));
  EXPECT_FALSE(p.is_alone());
  return p;
}

TEST(Pairing, BeginsAloneAndCountsNothingBeforeTheWitnessesKnow) {
  Pairing p(2s);
  p.committed(10, 0s);
  EXPECT_TRUE(p.is_alone());
  EXPECT_EQ(p.counts_up_to(), 0);
  EXPECT_FALSE(p.tick(100s));
  p.alone_is_known();
  EXPECT_EQ(p.counts_up_to(), 10);
}

TEST(Pairing, WaitsForTheStandby) {
  Pairing p = paired();
  p.committed(12, 1s);
  EXPECT_EQ(p.counts_up_to(), 10);
  p.standby_has(11);
  EXPECT_EQ(p.counts_up_to(), 11);
  p.standby_has(12);
  EXPECT_EQ(p.counts_up_to(), 12);
  EXPECT_EQ(p.wake_at(), Micros::max());
}

TEST(Pairing, GoesOnAloneWhenTheWitnessesKnow) {
  Pairing p = paired();
  p.committed(12, 1s);
  EXPECT_EQ(p.wake_at(), 3s);
  EXPECT_FALSE(p.tick(3s - 1us));
  EXPECT_TRUE(p.tick(3s));
  EXPECT_TRUE(p.is_alone());
  EXPECT_EQ(p.counts_up_to(), 10) << "the witnesses have not said yet that they know";
  p.alone_is_known();
  EXPECT_EQ(p.counts_up_to(), 12);
  p.committed(13, 4s);
  EXPECT_EQ(p.counts_up_to(), 13);
}

// A standby that is always a little behind is not a lost one.
TEST(Pairing, PatienceIsForEachEvent) {
  Pairing p = paired();
  for (int i = 1; i <= 100; ++i) {
    p.committed(10 + i, i * 100ms);
    p.standby_has(10 + i - 3);
    EXPECT_FALSE(p.tick(i * 100ms)) << i;
  }
}

TEST(Pairing, UnderLoadTheStandbyIsTakenBackWhenItIsClose) {
  Pairing p = paired();
  p.committed(20, 0s);
  ASSERT_TRUE(p.tick(2s));
  p.alone_is_known();
  p.committed(30, 10s);
  EXPECT_FALSE(p.tick(10s)) << "what it lacks is old";
  EXPECT_EQ(p.counts_up_to(), 30);
  // It has all but the newest, which now wait for it.
  p.standby_has(28);
  EXPECT_FALSE(p.tick(10s + 50ms)) << "it lacks what counted already";
  p.committed(31, 10s + 100ms);
  EXPECT_EQ(p.counts_up_to(), 30);
  p.standby_has(30);
  EXPECT_TRUE(p.tick(10s + 200ms));
  EXPECT_FALSE(p.is_alone());
  EXPECT_EQ(p.counts_up_to(), 30);
  p.standby_has(31);
  EXPECT_EQ(p.counts_up_to(), 31);
}

TEST(Pairing, DoesNotWaitForWhoWasNeverThere) {
  Pairing p(2s);
  p.alone_is_known();
  for (int i = 1; i < 5000; ++i) {
    p.committed(i, i * 1ms);
    EXPECT_FALSE(p.tick(i * 1ms));
    EXPECT_EQ(p.counts_up_to(), i);
  }
}

TEST(Pairing, BelievesNothingThatIsNotThere) {
  Pairing p = paired();
  p.standby_has(99);
  p.committed(11, 1s);
  EXPECT_EQ(p.counts_up_to(), 10);
}

}  // namespace
}  // namespace sickbay::succession
