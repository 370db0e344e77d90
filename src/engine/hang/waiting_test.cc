// SPDX-License-Identifier: Apache-2.0
// What counts as waiting for a processor, and what a job makes itself.  Looks are 5 s apart.
#include "engine/hang/waiting.h"

#include <gmock/gmock.h>

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;

// Threads that run and wait so much of each second, in processes of one each.
struct Load {
  double runs = 0, waits = 0;
  const char* cpus = "0-7";
  char state = 'R';
};

class WaitingTest : public testing::Test {
 protected:
  // `looks` looks at these processes, with pids 1, 2, ...; what they did is added up as the kernel does.
  void pass(const std::vector<Load>& loads, int looks = 6) {
    for (int look = 0; look < looks; ++look) {
      JobCounts counts;
      counts.at = now_ += 5s;
      ran_.resize(std::max(ran_.size(), loads.size()));
      waited_.resize(ran_.size());
      for (std::size_t i = 0; i < loads.size(); ++i) {
        ran_[i] += std::chrono::nanoseconds(static_cast<std::int64_t>(loads[i].runs * 5e9));
        waited_[i] += std::chrono::nanoseconds(static_cast<std::int64_t>(loads[i].waits * 5e9));
        ProcessCounts process;
        process.pid = static_cast<std::int64_t>(i) + 1;
        process.started = 100;
        process.name = "a.out";
        process.state = loads[i].state;
        process.children = children_;
        process.threads.push_back({process.pid, ran_[i], waited_[i], parse_cpu_list(loads[i].cpus)});
        counts.processes.push_back(std::move(process));
      }
      waiting.take(counts);
      children_ += children_a_look_;
    }
  }
  // What the worst process lost, in percent; -1 where nothing is known.
  int lost() const {
    const auto worst = waiting.worst(20s);
    return worst ? static_cast<int>((worst->lost_permille() + 5) / 10) : -1;
  }

  Waiting waiting;
  TimePoint now_ = from_micros(1'000'000);
  std::vector<std::chrono::nanoseconds> ran_, waited_;
  Micros children_{0}, children_a_look_{0};
};

TEST_F(WaitingTest, AProcessUnderAQuotaWaits) {
  pass({{0.5, 0.5}});
  EXPECT_EQ(lost(), 50);
  EXPECT_EQ(waiting.worst(20s)->seen, 25s);
  EXPECT_EQ(waiting.worst(20s)->pid, 1);
  EXPECT_FALSE(waiting.worst(60s));
}

TEST_F(WaitingTest, OneThatSleepsBlocksOrSpinsDoesNot) {
  pass({{0, 0, "0-7", 'S'}});
  EXPECT_EQ(lost(), 0);
  pass({{1, 0}});
  EXPECT_EQ(lost(), 0);
  pass({{0.1, 0.001, "0-7", 'D'}});
  EXPECT_EQ(lost(), 0);
}

TEST_F(WaitingTest, OneRankOfManyIsEnough) {
  pass({{1, 0}, {1, 0}, {0.5, 0.5}, {1, 0}});
  EXPECT_EQ(lost(), 50);
  EXPECT_EQ(waiting.worst(20s)->pid, 3);
}

// Two ranks on two processors, one of which waits: the other one alone cannot have both.
TEST_F(WaitingTest, AnotherRankCannotHaveAllProcessors) {
  pass({{1, 0, "0-1"}, {0.5, 0.5, "0-1"}});
  EXPECT_EQ(lost(), 50);
}

TEST_F(WaitingTest, ANeighbourOnOneOfEightProcessors) {
  std::vector<Load> ranks(8, Load{1, 0});
  ranks[4] = {0.5, 0.5};
  pass(ranks);
  EXPECT_EQ(lost(), 50);
}

// A program that starts more threads than it has processors waits for itself.
TEST_F(WaitingTest, WhatAJobMakesItselfDoesNotCount) {
  pass(std::vector<Load>(8, Load{0.25, 0.75, "0-1"}));
  EXPECT_EQ(lost(), 0);
}
TEST_F(WaitingTest, NorDoesItWhereItsThreadsSleepNowAndThen) {
  pass(std::vector<Load>(3, Load{0.6, 0.3, "0-1"}));
  EXPECT_EQ(lost(), 0);
}
TEST_F(WaitingTest, NorTwoRanksBoundToOneProcessor) {
  pass({{0.5, 0.5, "3"}, {0.5, 0.5, "3"}, {1, 0, "4"}, {1, 0, "5"}});
  EXPECT_EQ(lost(), 0);
}
TEST_F(WaitingTest, NorARankBesideAHelperOfItsJob) {
  pass({{0.5, 0.5, "3"}, {0.5, 0, "0-7"}});
  EXPECT_EQ(lost(), 0);
}
// Children that end between two looks are in no list of threads, but in their parents' account.
TEST_F(WaitingTest, NorWhatManyShortChildrenTake) {
  children_a_look_ = 5s;
  pass({{0.3, 0.7, "0-1"}, {0.01, 0, "0-1", 'S'}});
  EXPECT_EQ(lost(), 0);
}

TEST_F(WaitingTest, HelpersThatRunLittleHideNothing) {
  pass({{0.5, 0.5, "3"}, {0.02, 0, "3"}, {0.02, 0, "0-7"}});
  EXPECT_EQ(lost(), 46);
}

// cpulimit: stopped and continued in turns.
TEST_F(WaitingTest, OneThatIsStoppedInTurns) {
  for (int look = 0; look < 8; ++look) {
    pass({{0.6, 0, "0-7", look % 2 == 0 ? 'R' : 'T'}}, 1);
    for (int i = 0; i < 9; ++i) waiting.sample({{1, i % 5 < 2 ? 'T' : 'R'}, {77, 'T'}});
  }
  EXPECT_NEAR(lost(), 43, 6);
  EXPECT_EQ(waiting.worst(20s)->waited, Micros(0));
}

TEST_F(WaitingTest, OneThatStaysStoppedMayHaveDoneItItself) {
  pass({{1, 0}});
  pass({{0, 0, "0-7", 'T'}}, 12);
  EXPECT_EQ(lost(), 0);
}

TEST_F(WaitingTest, WhoIsWorthASample) {
  pass({{0, 0, "0-7", 'S'}, {1, 0}, {0, 0, "0-7", 'T'}, {0.5, 0}});
  EXPECT_THAT(waiting.to_sample(16), testing::ElementsAre(2, 3, 4));
  const auto first = waiting.to_sample(2), then = waiting.to_sample(2);
  EXPECT_EQ(first.size(), 2u);
  EXPECT_NE(first, then) << "where there are more, each time others";
}

TEST_F(WaitingTest, OneThatHasEndedIsNotForgotten) {
  pass({{1, 0}, {0.4, 0.6}});
  EXPECT_FALSE(waiting.incomplete());
  pass({{1, 0}}, 1);
  EXPECT_TRUE(waiting.incomplete());
  EXPECT_EQ(lost(), 60);
  pass({}, 1);
  EXPECT_EQ(lost(), 60);
}

// One that waited for half of its last minutes goes before one that lost more of many hours.
TEST_F(WaitingTest, TheWorseSharesGoFirst) {
  pass({{0.97, 0.03}}, 1000);
  pass({{0.97, 0.03}, {0.5, 0.5}}, 8);
  EXPECT_EQ(waiting.worst(20s)->pid, 2);
}

TEST_F(WaitingTest, APidThatIsGivenAgainIsAnother) {
  pass({{0.5, 0.5}}, 6);
  JobCounts counts;
  counts.at = now_ += 5s;
  counts.processes.push_back({1, 200, "b.out", 'R', {}, -1, "", {{1, 0ns, 0ns, {}}}});
  waiting.take(counts);
  EXPECT_EQ(waiting.worst(20s)->name, "a.out");
}

TEST_F(WaitingTest, ALookThatIsNoLaterChangesNothing) {
  pass({{0.5, 0.5}});
  const auto before = waiting.worst(20s);
  now_ -= 10s;
  pass({{0.5, 0.5}}, 1);
  EXPECT_EQ(waiting.worst(20s), before);
}

}  // namespace
}  // namespace sickbay::hang
