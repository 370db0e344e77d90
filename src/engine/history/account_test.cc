// SPDX-License-Identifier: Apache-2.0
// What failures cost: Figure 6 of the paper, as far as its text goes, and what follows from it.
#include "engine/history/account.h"

#include <gmock/gmock.h>

#include "engine/history/history_world.h"

namespace sickbay::history {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

// t_1 < t_2 < t_c1 < t_f; job 1 has ended before t_c1.
TEST(Account, Figure6OfThePaper) {
  World w;
  w.submit(1, 101);
  w.shown(1, 101, "RUNNING");
  w.pass(50s);
  w.submit(2, 102);
  w.shown(2, 102, "RUNNING");  // t_2
  const TimePoint t2 = w.now;
  w.pass(40s);
  w.shown(1, 101, "COMPLETED");
  w.pass(60s);
  w.told(2, 102, 1);  // t_c1
  const TimePoint tc1 = w.now;
  w.pass(30s);
  w.shown(2, 102, "NODE_FAIL");  // t_f
  const TimePoint tf = w.now;

  EXPECT_THAT(account_of(w.state, *part_of(w.state, 101)).failures, IsEmpty()) << "job 1: nothing to do";
  const Account two = account_of(w.state, *part_of(w.state, 102));
  ASSERT_THAT(two.failures, SizeIs(1));
  EXPECT_EQ(two.failures[0].recomputed, tf - tc1);
  EXPECT_EQ(two.failures[0].without, tf - t2) << "without checkpoints it is submitted anew";
  EXPECT_EQ(two.failures[0].saved(), tc1 - t2);
  EXPECT_FALSE(two.failures[0].gone_on);
}

// One job that fails again and again, restarted by Slurm, from checkpoints or from the beginning.
struct Again {
  World w;
  Again() {
    w.submit(1, 17);
    w.shown(1, 17, "RUNNING");
  }
  Account account() { return account_of(w.state, *part_of(w.state, 17)); }
};

TEST(Account, ASecondFailureHasTheProgressOfTheFirstBehindIt) {
  Again a;
  a.w.pass(100s);
  a.w.told(1, 17, 1);
  a.w.pass(20s);
  a.w.shown(1, 17, "PENDING", 1);  // a node was lost, and Slurm began it anew
  a.w.pass(30s);
  a.w.shown(1, 17, "RUNNING", 1);
  a.w.told(1, 17, 1, "restored", 1);
  a.w.pass(50s);
  a.w.told(1, 17, 2, "taken", 1, 1);
  a.w.pass(10s);
  a.w.shown(1, 17, "FAILED", 1);
  const Account account = a.account();
  ASSERT_THAT(account.failures, SizeIs(2));
  EXPECT_EQ(account.failures[0].state, "REQUEUED");
  EXPECT_EQ(account.failures[0].recomputed, 20s);
  EXPECT_EQ(account.failures[0].saved(), 100s);
  EXPECT_TRUE(account.failures[0].gone_on);
  EXPECT_EQ(account.failures[1].recomputed, 10s);
  EXPECT_EQ(account.failures[1].without, 160s) << "what the first run had done would be lost, too";
  EXPECT_EQ(account.saved(), 250s);
  EXPECT_EQ(account.checkpoints, 2);
  EXPECT_EQ(account.checkpointing, 4s);
}

// As on real nodes (test/slurm/random_kills.sh): the program has gone on before Slurm is looked at.
TEST(Account, AProgramMayTellOfItsRestartBeforeSlurmDoes) {
  Again a;
  a.w.pass(100s);
  a.w.told(1, 17, 1);
  a.w.pass(20s);
  a.w.told(1, 17, 1, "restored", 1);
  a.w.pass(2s);
  a.w.shown(1, 17, "RUNNING", 1);
  a.w.pass(48s);
  a.w.told(1, 17, 2, "taken", 1, 1);
  a.w.pass(10s);
  a.w.shown(1, 17, "FAILED", 1);
  const Account account = a.account();
  ASSERT_THAT(account.failures, SizeIs(2));
  EXPECT_EQ(account.failures[0].recomputed, 20s);
  EXPECT_EQ(account.failures[1].recomputed, 10s);
  EXPECT_EQ(account.failures[1].without, 160s) << "what the first run had done is behind it";
}

TEST(Account, ACheckpointWhoseNewsWereLostCountsAsTheOneBefore) {
  Again a;
  a.w.pass(100s);
  a.w.told(1, 17, 1);
  a.w.pass(20s);
  a.w.shown(1, 17, "PENDING", 1);
  a.w.shown(1, 17, "RUNNING", 1);
  a.w.told(1, 17, 2, "restored", 1);  // it was taken a moment before the node died
  EXPECT_EQ(a.account().failures.at(0).recomputed, 20s);
  a.w.pass(30s);
  a.w.shown(1, 17, "FAILED", 1);
  EXPECT_EQ(a.account().failures.at(1).without, 130s);
}

TEST(Account, WhoBeginsAnewAllTheSameHasSavedNothing) {
  Again a;
  a.w.pass(100s);
  a.w.told(1, 17, 1);
  a.w.pass(20s);
  a.w.shown(1, 17, "PENDING", 1);
  a.w.shown(1, 17, "RUNNING", 1);
  a.w.pass(50s);
  ASSERT_THAT(a.account().failures, SizeIs(1));
  EXPECT_EQ(a.account().failures[0].recomputed, 120s);
  EXPECT_EQ(a.account().saved(), 0s);
}

TEST(Account, ALaterCheckpointThatWasPassedOverCountsAsLost) {
  Again a;
  a.w.pass(100s);
  a.w.told(1, 17, 1);
  a.w.pass(100s);
  a.w.told(1, 17, 2);  // it is damaged, as the restart finds out
  a.w.pass(10s);
  a.w.shown(1, 17, "PENDING", 1);
  a.w.shown(1, 17, "RUNNING", 1);
  a.w.told(1, 17, 1, "restored", 1);
  EXPECT_EQ(a.account().failures.at(0).checkpoint, 1);
  EXPECT_EQ(a.account().recomputed(), 110s);
}

TEST(Account, AReplayHasTheProgressOfItsCheckpoint) {
  World w;
  w.submit(1, 17);
  w.shown(1, 17, "RUNNING");
  w.pass(100s);
  w.told(1, 17, 1);
  w.pass(20s);
  w.shown(1, 17, "FAILED");
  ASSERT_TRUE(w.undo(17, "1"));
  w.redo(17, 2, 31);
  w.pass(30s);
  w.shown(2, 31, "RUNNING");
  w.pass(40s);
  w.shown(2, 31, "FAILED");
  const Account account = account_of(w.state, *part_of(w.state, 31));
  ASSERT_THAT(account.failures, SizeIs(1));
  EXPECT_EQ(account.failures[0].recomputed, 40s);
  EXPECT_EQ(account.failures[0].saved(), 100s);
}

TEST(Account, WhatItsOwnerEndedHasNotFailed) {
  Again a;
  a.w.pass(100s);
  a.w.shown(1, 17, "CANCELLED");
  EXPECT_THAT(a.account().failures, IsEmpty());
}

// The paper: "when the time between two failures is smaller than the time that the job needs, it cannot be
// done without checkpoints".
TEST(Account, WithFailuresCloserThanItsRunTimeAJobWithoutCheckpointsNeverEnds) {
  constexpr auto kNeeds = 300s, kBetween = 70s, kEvery = 30s;
  const auto runs_until_done = [&](bool checkpoints) {
    Again a;
    int number = 0, last = 0;
    std::chrono::seconds done{0}, kept{0};
    for (std::uint32_t restart = 0; restart < 200; ++restart) {
      if (restart > 0) {
        a.w.shown(1, 17, "RUNNING", restart);
        if (last != 0) a.w.told(1, 17, last, "restored", restart);
      }
      done = kept;
      for (auto t = 10s; t <= kBetween; t += 10s) {
        a.w.pass(10s);
        done += 10s;
        if (done >= kNeeds) return static_cast<int>(restart) + 1;
        if (checkpoints && t % kEvery == 0s) {
          a.w.told(1, 17, last = ++number, "taken", restart);
          kept = done;
        }
      }
      a.w.shown(1, 17, "PENDING", restart + 1);
      EXPECT_EQ(a.account().failures.back().recomputed, done - kept);
    }
    return 0;
  };
  EXPECT_EQ(runs_until_done(false), 0) << "stopped after 200 failures";
  EXPECT_EQ(runs_until_done(true), 5);
}

}  // namespace
}  // namespace sickbay::history
