// SPDX-License-Identifier: Apache-2.0
#include "engine/blackhole/recent.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sickbay::blackhole {
namespace {

const TimePoint kStart = from_unix_seconds(1'800'000'000);

JobOutcome outcome(JobId job, std::uint32_t uid, const std::string& program, const std::string& node) {
  JobOutcome made;
  made.job = job;
  made.start = kStart;
  made.uid = uid;
  made.program = program;
  made.nodes = {node};
  made.lived = std::chrono::seconds(3);
  return made;
}

TEST(Recent, AJobIsOneOutcomeHoweverOftenItIsToldOf) {
  Recent recent;
  JobOutcome job = outcome(1, 5, "a", "n1");
  job.ended = false;
  recent.take(kStart, job);
  job.lived = std::chrono::seconds(40);
  recent.take(kStart + std::chrono::seconds(40), job);
  job.ended = job.failed = true;
  recent.take(kStart + std::chrono::seconds(50), job);
  // An answer that was long under way: what ended does not run again.
  job.ended = job.failed = false;
  recent.take(kStart + std::chrono::seconds(51), job);
  ASSERT_EQ(recent.of({5, "a"}).size(), 1U);
  ASSERT_EQ(recent.all().size(), 1U);
  EXPECT_TRUE(recent.of({5, "a"}).front().outcome.failed);
  EXPECT_TRUE(recent.all().front().outcome.failed);
  // Put back into the queue and started again it is another run.
  job.start += std::chrono::hours(1);
  recent.take(kStart + std::chrono::hours(2), job);
  EXPECT_EQ(recent.of({5, "a"}).size(), 2U);
}

TEST(Recent, FindsAJob) {
  Recent recent;
  recent.take(kStart, outcome(7, 5, "a", "n1"));
  JobOutcome again = outcome(7, 5, "a", "n2");
  again.start += std::chrono::hours(1);
  recent.take(kStart, again);
  ASSERT_NE(recent.job(7), nullptr);
  EXPECT_EQ(recent.job(7)->outcome.nodes.front(), "n2");
  EXPECT_EQ(recent.job(8), nullptr);
}

TEST(Recent, AFloodOnOneNodeLeavesWhatTheKindDidElsewhere) {
  Recent recent;
  JobId job = 0;
  for (int i = 0; i < 8; ++i) recent.take(kStart, outcome(++job, 5, "a", "m" + std::to_string(i)));
  for (int i = 0; i < 1000; ++i) recent.take(kStart, outcome(++job, 5, "a", "n1"));
  const auto& kept = recent.of({5, "a"});
  EXPECT_EQ(kept.size(), kMostOfKind);
  EXPECT_EQ(std::ranges::count_if(kept, [](const Kept& k) { return k.outcome.nodes.front() != "n1"; }), 8);
}

TEST(Recent, NobodyHasMoreThanHisRoom) {
  Recent recent;
  JobId job = 0;
  for (std::uint32_t uid = 1; uid <= 5; ++uid) recent.take(kStart, outcome(++job, uid, "a", "n1"));
  // One user with a thousand names and forty jobs of each.
  for (int i = 0; i < 1000; ++i)
    for (int k = 0; k < 40; ++k)
      recent.take(kStart + std::chrono::seconds(i), outcome(++job, 9, "p" + std::to_string(i), "n1"));
  EXPECT_EQ(recent.kinds(), 5 + kMostKindsOfUser);
  for (std::uint32_t uid = 1; uid <= 5; ++uid) EXPECT_EQ(recent.of({uid, "a"}).size(), 1U) << uid;
  EXPECT_EQ(recent.all().size(), 5 + kMostOfUserInAll);
}

TEST(Recent, WhoWasNotHeardOfForLongestGivesWay) {
  Recent recent;
  JobId job = 0;
  const auto users = static_cast<std::uint32_t>(kMostUsers);
  for (std::uint32_t uid = 1; uid <= users; ++uid)
    recent.take(kStart + std::chrono::seconds(uid), outcome(++job, uid, "a", "n1"));
  recent.take(kStart + std::chrono::hours(2), outcome(++job, 1, "a", "n1"));  // heard of again
  recent.take(kStart + std::chrono::hours(2), outcome(++job, users + 1, "a", "n1"));
  EXPECT_EQ(recent.kinds(), kMostUsers);
  EXPECT_EQ(recent.of({1, "a"}).size(), 2U);
  EXPECT_TRUE(recent.of({2, "a"}).empty());
  EXPECT_EQ(recent.all().size(), kMostOfAll);
}

TEST(Recent, OldOutcomesGo) {
  Recent recent;
  recent.take(kStart, outcome(1, 5, "a", "n1"));
  recent.take(kStart + kFresh + std::chrono::seconds(1), outcome(2, 5, "a", "n1"));
  ASSERT_EQ(recent.of({5, "a"}).size(), 1U);
  EXPECT_EQ(recent.of({5, "a"}).front().outcome.job, 2U);
}

}  // namespace
}  // namespace sickbay::blackhole
