// SPDX-License-Identifier: Apache-2.0
// In virtual time: what counts here is when a call starts.
#include "adapters/slurm/call_lane.h"

#include <gtest/gtest.h>

#include <string>

#include "adapters/sim/sim_loop.h"

namespace sickbay::slurm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CallLaneTest : public ::testing::Test {
 protected:
  CallLane::Work work(const std::string& name, bool update = false) {
    return {update, [this, name] { started += name; },
            [this](const Error& error) { refused.push_back(error); }};
  }
  sim::SimLoop loop;
  UpdateRate rate{10};
  std::string started;
  std::vector<Error> refused;
};

TEST_F(CallLaneTest, StartsInOrderAsManyAsItIsWide) {
  CallLane lane(loop, rate, 2, 10);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(lane.submit(work(name)));
  EXPECT_EQ(started, "ab");
  lane.finished();
  EXPECT_EQ(started, "abc");
  lane.finished();
  lane.finished();
  EXPECT_EQ(started, "abcd");
  EXPECT_EQ(lane.under_way(), 1U);
}

TEST_F(CallLaneTest, RefusesWhatItsQueueCannotHold) {
  CallLane lane(loop, rate, 1, 2);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(lane.submit(work(name)));
  EXPECT_FALSE(lane.submit(work("d")));
  lane.finished();
  EXPECT_TRUE(lane.submit(work("e")));
}

TEST_F(CallLaneTest, TenUpdatesASecondAndLooksGoPastThem) {
  CallLane lane(loop, rate, 100, 100);
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(lane.submit(work("u", true)));
  EXPECT_TRUE(lane.submit(work("L")));
  EXPECT_EQ(started, std::string(10, 'u') + "L");
  loop.run_until(loop.now() + milliseconds(999));
  EXPECT_EQ(started.size(), 11U);
  loop.run_until(loop.now() + milliseconds(1));
  EXPECT_EQ(started.size(), 21U);
  loop.run_until(loop.now() + seconds(1));
  EXPECT_EQ(started.size(), 26U);
}

TEST_F(CallLaneTest, TwoLanesShareTheRate) {
  CallLane one(loop, rate, 100, 100), other(loop, rate, 100, 100);
  for (int i = 0; i < 8; ++i) {
    one.submit(work("a", true));
    other.submit(work("b", true));
  }
  EXPECT_EQ(started.size(), 10U);
  loop.run_until(loop.now() + seconds(2));
  EXPECT_EQ(started.size(), 16U);
}

TEST_F(CallLaneTest, WhatWaitedTooLongIsRefusedAndNotStarted) {
  CallLane lane(loop, rate, 1, 10);
  lane.submit(work("a"));
  lane.submit(work("b"));
  loop.run_until(loop.now() + seconds(61));
  lane.submit(work("c"));
  EXPECT_EQ(started, "a");
  lane.finished();
  EXPECT_EQ(started, "ac");
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].code, ErrorCode::slurm_away);
}

TEST_F(CallLaneTest, WorkThatFinishesAtOnceLeavesRoom) {
  CallLane lane(loop, rate, 1, 10);
  for (int i = 0; i < 5; ++i)
    lane.submit({false,
                 [&] {
                   started += "x";
                   lane.finished();
                 },
                 nullptr});
  EXPECT_EQ(started, "xxxxx");
  EXPECT_EQ(lane.under_way(), 0U);
}

TEST(UpdateRate, AClockThatWasSetBackDoesNotBlock) {
  UpdateRate rate(1);
  const TimePoint now = from_unix_seconds(1000000);
  rate.took(now);
  EXPECT_GT(rate.next(now), now);
  EXPECT_EQ(rate.next(now - seconds(3600)), now - seconds(3600));
}

}  // namespace
}  // namespace sickbay::slurm
