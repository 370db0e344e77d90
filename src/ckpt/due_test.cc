// SPDX-License-Identifier: Apache-2.0
#include "ckpt/due.h"

#include <gtest/gtest.h>

namespace sickbay::ckpt {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

const TimePoint kStart = from_unix_seconds(1'800'000'000);

DueFacts at(seconds after) {
  DueFacts facts;
  facts.started = facts.last = kStart;
  facts.now = kStart + after;
  return facts;
}

TEST(Due, NeverByItself) {
  EXPECT_EQ(due({}, at(hours(1000))), DueWhy::no);
  EXPECT_EQ(next_due({}, at(hours(1000))), kNever);
}

TEST(Due, ByTheTimer) {
  const Rhythm rhythm{.every = seconds(100)};
  EXPECT_EQ(due(rhythm, at(seconds(99))), DueWhy::no);
  EXPECT_EQ(due(rhythm, at(seconds(100))), DueWhy::timer);
  EXPECT_EQ(next_due(rhythm, at(seconds(3))), kStart + seconds(100));
  DueFacts facts = at(seconds(150));
  EXPECT_EQ(next_due(rhythm, facts), facts.now);  // it is late
  facts.last = kStart + seconds(120);
  EXPECT_EQ(due(rhythm, facts), DueWhy::no);
  EXPECT_EQ(next_due(rhythm, facts), kStart + seconds(220));
}

TEST(Due, ByDalyOnceACostIsKnown) {
  const Rhythm rhythm{.mttf = hours(24)};
  EXPECT_EQ(interval_of(rhythm, std::nullopt), seconds(60));
  // sqrt(2 * 50 * 86400) = 2939.4; times 1 + 0.01701/3 + 0.000289/9, less the 50.
  EXPECT_NEAR(static_cast<double>(interval_of(rhythm, seconds(50))->count()) / 1e6, 2906.1, 0.5);
  DueFacts facts = at(seconds(2906));
  EXPECT_EQ(due(rhythm, facts), DueWhy::timer);
  facts.cost = seconds(50);
  EXPECT_EQ(due(rhythm, facts), DueWhy::no);
  // One that costs more than failures leave room for is taken all the same, as often as they come.
  EXPECT_EQ(interval_of(rhythm, hours(50)), hours(24));
  EXPECT_EQ(interval_of({.mttf = Micros(5)}, Micros(0)), seconds(1));
  EXPECT_EQ(interval_of({.every = seconds(7), .mttf = hours(24)}, seconds(50)), seconds(7));
}

TEST(Due, NothingOverflows) {
  EXPECT_EQ(next_due({.every = Micros::max()}, at(seconds(1))), kNever);
  EXPECT_EQ(due({.every = Micros::max()}, at(seconds(1))), DueWhy::no);
  EXPECT_GT(*interval_of({.mttf = Micros::max()}, seconds(1)), hours(1));
}

TEST(Due, OnceBeforeTheLimit) {
  DueFacts facts = at(seconds(1000));
  facts.job_end = kStart + seconds(1100);
  EXPECT_EQ(end_point({}, facts), kStart + seconds(1040));
  EXPECT_EQ(due({}, facts), DueWhy::no);
  EXPECT_EQ(next_due({}, facts), kStart + seconds(1040));
  facts.cost = seconds(40);  // three of them
  EXPECT_EQ(due({}, facts), DueWhy::before_end);
  facts.ended_taken = true;
  EXPECT_EQ(due({}, facts), DueWhy::no);
  EXPECT_EQ(next_due({}, facts), kNever);
  facts.ended_taken = false;
  EXPECT_EQ(due({.before_end = seconds(99)}, facts), DueWhy::no);
  EXPECT_EQ(due({.before_end = seconds(100)}, facts), DueWhy::before_end);
  facts.now = kStart + seconds(1200);
  EXPECT_EQ(due({.before_end = Micros(0)}, facts), DueWhy::no);
  // It goes before the timer, which has its interval from here.
  EXPECT_EQ(due({.every = seconds(1)}, facts), DueWhy::before_end);
}

TEST(Due, AShortJobComputesFirst) {
  DueFacts facts = at(seconds(1));
  facts.job_end = kStart + seconds(40);
  EXPECT_EQ(end_point({}, facts), kStart + seconds(20));
  facts.job_end = kStart - seconds(40);  // of another start
  EXPECT_EQ(due({}, facts), DueWhy::no);
}

TEST(Due, WhenAskedAndOnce) {
  DueFacts facts = at(seconds(1));
  facts.asked = "a";
  EXPECT_EQ(due({}, facts), DueWhy::asked);
  EXPECT_EQ(next_due({}, facts), facts.now);
  facts.asked_done = "a";
  EXPECT_EQ(due({}, facts), DueWhy::no);
  facts.asked = "b";
  EXPECT_EQ(due({}, facts), DueWhy::asked);
  facts.asked = "";  // the file is gone
  EXPECT_EQ(due({}, facts), DueWhy::no);
}

// What next_due says and what due answers are one.
TEST(Due, IsDueWhenItSaidSo) {
  for (const Rhythm& rhythm : {Rhythm{}, Rhythm{.every = seconds(33)}, Rhythm{.mttf = hours(1)}})
    for (const auto& cost : {std::optional<Micros>(), std::optional<Micros>(seconds(20))})
      for (const bool taken : {false, true})
        for (const TimePoint end : {kNever, kStart + seconds(500)}) {
          DueFacts facts = at(seconds(0));
          facts.cost = cost;
          facts.ended_taken = taken;
          facts.job_end = end;
          const TimePoint next = next_due(rhythm, facts);
          if (next == kNever) continue;
          facts.now = next - Micros(1);
          EXPECT_EQ(due(rhythm, facts), DueWhy::no);
          facts.now = next;
          EXPECT_NE(due(rhythm, facts), DueWhy::no);
        }
}

}  // namespace
}  // namespace sickbay::ckpt
