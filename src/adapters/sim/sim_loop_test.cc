// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_loop.h"

#include <gtest/gtest.h>

#include <string>

namespace sickbay::sim {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

TEST(SimLoop, TasksComeBeforeTimersAndTimersInTheirOrder) {
  SimLoop loop;
  std::string order;
  const TimePoint start = loop.now();
  loop.at(start + seconds(2), [&] { order += 'd'; });
  loop.at(start + seconds(1), [&] {
    order += 'b';
    loop.post([&] { order += 'c'; });
  });
  loop.at(start + seconds(2), [&] { order += 'e'; });
  loop.post([&] { order += 'a'; });
  loop.run();
  EXPECT_EQ(order, "abcde");
  EXPECT_EQ(loop.elapsed(), seconds(2));
  EXPECT_TRUE(loop.idle());
}

TEST(SimLoop, ATimerOfThePastRunsNowButNotAtOnce) {
  SimLoop loop;
  bool ran = false;
  loop.at(kNoTime, [&] { ran = true; });
  EXPECT_FALSE(ran);
  loop.run();
  EXPECT_TRUE(ran);
  EXPECT_EQ(loop.elapsed(), seconds(0));
}

TEST(SimLoop, CancelledTimersStayAway) {
  SimLoop loop;
  bool ran = false;
  const auto timer = loop.at(loop.now() + seconds(1), [&] { ran = true; });
  loop.cancel(timer);
  loop.cancel(timer);
  loop.cancel(12345);
  loop.run();
  EXPECT_FALSE(ran);
}

TEST(SimLoop, RunUntilStopsTheClockThere) {
  SimLoop loop;
  int ran = 0;
  loop.at(loop.now() + seconds(10), [&] { ++ran; });
  loop.at(loop.now() + seconds(11), [&] { ++ran; });
  loop.run_until(loop.now() + seconds(10));
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(loop.elapsed(), seconds(10));
}

TEST(SimLoop, RunWhileSaysWhetherItEnded) {
  SimLoop loop;
  int ticks = 0;
  std::function<void()> tick = [&] {
    ++ticks;
    loop.at(loop.now() + hours(1), tick);
  };
  tick();
  EXPECT_TRUE(loop.run_while([&] { return ticks < 5; }));
  EXPECT_EQ(loop.elapsed(), hours(4));
  EXPECT_FALSE(loop.run_while([&] { return ticks < 50; }, loop.now() + hours(3)));
  EXPECT_EQ(ticks, 8);
  loop.at(loop.now(), [&] { loop.stop(); });
  EXPECT_FALSE(loop.run_while([] { return true; }));
}

}  // namespace
}  // namespace sickbay::sim
