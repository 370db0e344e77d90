// SPDX-License-Identifier: Apache-2.0
// The agent's part, in virtual time: when it looks, and what it tells.
#include "service/agent/rank_looks.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "adapters/sim/sim_loop.h"
#include "engine/hang/judge.h"
#include "model/rank_report.h"

namespace sickbay::agent {
namespace {

using namespace std::chrono_literals;

class RankLooksTest : public testing::Test {
 protected:
  RankLooksTest()
      : looks(
            loop,
            [this](const RankLookOrder& order, Done<RankLook> done) {
              asked.emplace_back(order.job, order.uid);
              glances.push_back(order.glance);
              proofs.push_back(order.prove);
              returns = order.returns;
              calls = order.calls;
              look(order, loop.now() + order.last, std::move(done));
            },
            [this](Json report) { reports.push_back(std::move(report)); },
            [this](const std::string& line) { log.push_back(line); }) {}

  // As the program does: glances, and a whole look at their end, or as soon as one cannot say.
  void look(const RankLookOrder& order, TimePoint end, Done<RankLook> done) {
    if (order.early_end->asked()) return;
    if (order.glance.empty() || waits || broken || unsure || loop.now() >= end) {
      ++whole;
      return void(loop.at(loop.now() + 1400ms, [this, done = std::move(done)] { done(answer()); }));
    }
    ++glanced;
    if (lets_go)
      return void(loop.at(loop.now() + 10ms, [this, done = std::move(done)] { done(all_go_on()); }));
    loop.at(std::min(end, loop.now() + order.again),
            [this, order, end, done = std::move(done)] { look(order, end, done); });
  }

  Result<RankLook> answer() {
    if (broken) return fail(ErrorCode::os, "sickbay-ranks was killed by signal 11");
    RankLook look;
    look.cpu_us = cpu.count();
    Rank rank;
    rank.world = "step 0";
    rank.size = 1;
    rank.pid = 7;
    for (int i = 0; i < 3; ++i) {
      RankRound round;
      round.at = loop.now() - 700ms * (2 - i);
      round.state = 'R';
      round.cpu_us = i * 700'000;
      round.stacks = {0};
      rank.rounds.push_back(round);
    }
    RankStack stack;
    if (waits || !call.empty()) {
      stack.frames.push_back({waits ? "PMPI_Recv" : call, "libmpi.so", false});
      stack.back = 0x40;
    }
    stack.frames.push_back({"main", "a.out", true});
    rank.stacks.push_back(stack);
    // One that goes on holds something else in the last round.
    stack.held = 1;
    rank.stacks.push_back(stack);
    if (!waits) (begins ? rank.rounds.front() : rank.rounds.back()).stacks = {1};
    if (!returns.empty()) rank.returns = {{7, 0x40, 1400ms, call_returns, ""}};
    // The first thread only waits for another one, which is in the call.
    if (other > 0) {
      RankStack joins;
      joins.frames = {{"pthread_join", "libc.so.6", false}, {"main", "a.out", true}};
      rank.stacks.push_back(joins);
      for (RankRound& round : rank.rounds) {
        round.stacks.insert(round.stacks.begin(), 2);
        round.state = 'S';
        round.threads = {7, other};
      }
    }
    look.ranks.push_back(rank);
    if (silent) look.socket_bytes = 0;
    return look;
  }
  Result<RankLook> all_go_on() const {
    RankLook look;
    look.goes_on = true;
    look.cpu_us = glance_cpu.count();
    return look;
  }
  static Json told(std::int64_t version, const std::vector<std::pair<int, int>>& jobs) {
    Json list = Json::array();
    for (const auto& [job, uid] : jobs)
      list.push(Json::object({{"job", job}, {"uid", uid}, {"pause_ms", 500}}));
    return Json::object({{"version", version}, {"jobs", std::move(list)}});
  }
  void pass(std::chrono::milliseconds time) { loop.run_until(loop.now() + time); }

  sim::SimLoop loop;
  std::vector<std::pair<JobId, std::uint32_t>> asked;
  std::vector<Json> reports;
  std::vector<std::string> log;
  std::vector<std::vector<std::vector<std::int64_t>>> glances;  ///< of each look, asked or not
  std::vector<bool> proofs;                                     ///< of each look
  std::vector<CallReturn> returns, calls;                       ///< of the last one
  int glanced = 0, whole = 0;                                   ///< glances, and looks behind them too
  bool lets_go = false;                                         ///< each row of glances ends early
  bool unsure = false;                                          ///< no glance can say that it goes on
  std::string call;               ///< of MPI, that the rank is in while it goes on
  std::int64_t call_returns = 0;  ///< what is counted of them
  bool waits = true, broken = false;
  std::int64_t other = 0;  ///< a thread that MPI is called in, and the first one is not; 0: none is
  bool silent = false;     ///< nothing goes over its connections
  bool begins = false;     ///< while it goes on: its last two rounds look as if it waited
  Micros cpu{5000}, glance_cpu{3000};
  RankLooks looks;
};

TEST_F(RankLooksTest, LooksWhileItIsTold) {
  pass(60s);
  EXPECT_TRUE(asked.empty()) << "no job asks";
  looks.take(told(5, {{17, 1000}, {18, 1001}}));
  EXPECT_EQ(looks.version(), 5);
  pass(10s);
  EXPECT_THAT(asked, testing::Contains(std::pair<JobId, std::uint32_t>(17, 1000)));
  EXPECT_THAT(asked, testing::Contains(std::pair<JobId, std::uint32_t>(18, 1001)));
  looks.take(told(6, {{18, 1001}}));
  asked.clear();
  pass(10s);
  EXPECT_THAT(asked, testing::Each(std::pair<JobId, std::uint32_t>(18, 1001)));
  looks.take(told(0, {}));
  asked.clear();
  reports.clear();
  pass(60s);
  EXPECT_TRUE(asked.empty());
  EXPECT_TRUE(reports.empty()) << "also what was under way is not told";
}

TEST_F(RankLooksTest, RootsProcessesAreNeverLookedAt) {
  looks.take(told(1, {{17, 0}, {-3, 1000}}));
  pass(10s);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(log.size(), 2u);
}

TEST_F(RankLooksTest, OneThatWaitsIsToldOfEachTimeAndHeldGrows) {
  looks.take(told(1, {{17, 1000}}));
  pass(12s);
  ASSERT_GE(reports.size(), 3u);
  const auto held = [&](std::size_t i) {
    return reports[i]["report"]["groups"].items()[0]["held_us"].as_int();
  };
  EXPECT_EQ(reports[0]["job"].as_int(), 17);
  EXPECT_LT(held(0), held(1));
  EXPECT_LT(held(1), held(2));
  EXPECT_TRUE(read_rank_report(reports[2]["report"]));
}

TEST_F(RankLooksTest, OneThatGoesOnIsToldOfNowAndThen) {
  waits = false;
  looks.take(told(1, {{17, 1000}}));
  pass(60s);
  EXPECT_GE(reports.size(), 3u);
  EXPECT_LE(reports.size(), 5u);
  // That it waits, and that it goes on again, is told at once.
  reports.clear();
  waits = true;
  pass(5s);
  EXPECT_GE(reports.size(), 1u);
  waits = false;
  reports.clear();
  pass(4s);
  EXPECT_EQ(reports.size(), 1u);
}

TEST_F(RankLooksTest, ADearLookIsMadeRarely) {
  cpu = 100ms;  // a hundredth of a processor: each 10 s
  looks.take(told(1, {{17, 1000}}));
  pass(120s);
  // (The first ones come at once: who hangs is to be told of in seconds.)
  EXPECT_LE(asked.size(), 16u);
  EXPECT_GE(asked.size(), 13u);
}

TEST_F(RankLooksTest, WhileItGoesOnGlancesDo) {
  waits = false;
  cpu = 22ms;
  looks.take(told(1, {{17, 1000}}));
  pass(600s);
  EXPECT_GE(whole, 7) << "each 120 s: a program may have begun beside it";
  EXPECT_LE(whole, 9);
  EXPECT_LE(glances.size(), 10u) << "one program makes all glances between, and the look behind them";
  EXPECT_GE(glanced, 250) << "each 2 s: it may hang next";
  EXPECT_EQ(glances[1], (std::vector<std::vector<std::int64_t>>{{7}}));
  // Reports go on, or sickbayd would not know what to think of this node.
  EXPECT_GE(reports.size(), 36u);
  EXPECT_LE(reports.size(), 52u);
}

TEST_F(RankLooksTest, WhatAProgramDoesAtItsStartIsNotBelievedForAMinute) {
  waits = false;
  looks.take(told(1, {{17, 1000}}));
  pass(1400ms);
  EXPECT_TRUE(asked.empty()) << "it has hardly begun";
  pass(16s);
  EXPECT_EQ(whole, 2);
  pass(20s);
  EXPECT_EQ(whole, 3);
  pass(50s);
  EXPECT_EQ(whole, 4);
}

// On a busy machine: thirty seconds in MPI_Init, of which glances say nothing.
TEST_F(RankLooksTest, AfterALongStartWhatItDoesIsSeenAsSoonAsItTook) {
  waits = false;
  unsure = true;
  call = "PMPI_Init";
  looks.take(told(1, {{17, 1000}}));
  pass(30s);
  const int start = whole;
  EXPECT_GE(start, 6);
  unsure = false;
  call = "";
  pass(35s);
  EXPECT_GT(whole, start);
  EXPECT_LE(whole, start + 2);
  pass(15s);
  const auto& report = reports.back()["report"];
  EXPECT_EQ(report["groups"].items()[0]["standing"].as_string(), "computes") << report.dump();
}

// By then it asks for what does not come, and its limit may be a few minutes.
TEST_F(RankLooksTest, WhoBeginsLateToAskIsToldOfSoon) {
  const auto nowhere = [&] {
    return Micros(reports.back()["report"]["groups"].items()[0]["nowhere_us"].as_int());
  };
  waits = false;
  silent = true;
  call = "PMPI_Send";
  looks.take(told(1, {{17, 1000}}));
  pass(16s);
  EXPECT_EQ(whole, 2);
  call = "PMPI_Test";
  pass(100s);
  EXPECT_GE(nowhere(), hang::Policy().doubtful);
  // Once it is told of, as rarely as ever.
  const int before = whole;
  pass(600s);
  EXPECT_GE(nowhere(), 600s);
  EXPECT_LE(whole - before, 6);
}

TEST_F(RankLooksTest, GlancesThatEndEarlyAreMadeOn) {
  waits = false;
  lets_go = true;
  looks.take(told(1, {{17, 1000}}));
  pass(600s);
  EXPECT_GE(whole, 7);
  EXPECT_LE(whole, 9);
  EXPECT_GE(glanced, 250);
}

TEST_F(RankLooksTest, WhoIsNotWatchedAnyMoreIsNotGlancedAt) {
  waits = false;
  looks.take(told(1, {{17, 1000}}));
  pass(20s);
  ASSERT_GE(glanced, 3);
  looks.take(told(2, {}));
  glanced = 0;
  reports.clear();
  pass(60s);
  EXPECT_EQ(glanced, 0);
  EXPECT_TRUE(reports.empty());
}

TEST_F(RankLooksTest, AGlanceKnowsTheCallsThatRanksWereIn) {
  waits = false;
  call = "MPI_Allreduce";
  looks.take(told(1, {{17, 1000}}));
  pass(20s);
  EXPECT_FALSE(glances.back().empty());
  EXPECT_EQ(calls, (std::vector<CallReturn>{{7, 7, 0x40}}));
  // One that asks comes back whether it gets on or not.
  call = "MPI_Iprobe";
  pass(120s);
  EXPECT_FALSE(glances.back().empty());
  EXPECT_TRUE(calls.empty());
}

TEST_F(RankLooksTest, OneThatBeginsToWaitIsSeenInSecondsAndLookedAtWhole) {
  waits = false;
  cpu = 22ms;
  looks.take(told(1, {{17, 1000}}));
  // Whenever it begins: between two glances, while a whole look is due or under way.
  for (int phase = 0; phase < 70; ++phase) {
    waits = false;
    pass(35s + phase * 900ms);
    reports.clear();
    glances.clear();
    waits = true;
    pass(9s);
    // Within 9 s its node can say that it has waited for 4 s.
    ASSERT_GE(reports.size(), 2u) << phase;
    EXPECT_GE(reports.back()["report"]["groups"].items()[0]["held_us"].as_int(), 4'000'000) << phase;
    for (std::size_t i = 1; i < glances.size(); ++i) EXPECT_TRUE(glances[i].empty()) << "a wait is looked at";
  }
}

TEST_F(RankLooksTest, WhoMayHaveBegunToWaitIsLookedAtSoonOnce) {
  waits = false;
  begins = true;
  call = "MPI_Recv";
  cpu = 22ms;
  looks.take(told(1, {{17, 1000}}));
  pass(1600ms);
  ASSERT_EQ(proofs, std::vector<bool>{false});
  pass(3s);
  ASSERT_EQ(proofs, (std::vector<bool>{false, true})) << "not after a glance's pause, and with its calls";
  EXPECT_TRUE(glances[1].empty());
  EXPECT_EQ(returns, (std::vector<CallReturn>{{7, 7, 0x40}}));
  // It went on, and looks so each time: it is let be, by glances.
  pass(600s);
  EXPECT_LE(whole, 22);
  EXPECT_GE(glanced, 240);
}

// Its thread is known from the first look on: not to lose the second one.
TEST_F(RankLooksTest, AThreadThatWaitsForTheFirstOneIsCounted) {
  other = 9;
  looks.take(told(1, {{17, 1000}}));
  pass(6s);
  ASSERT_GE(proofs.size(), 2u);
  EXPECT_EQ(returns, (std::vector<CallReturn>{{7, 9, 0x40}}));
}

TEST_F(RankLooksTest, WhoSeemsToWaitIsLookedAtMoreClosely) {
  looks.take(told(1, {{17, 1000}}));
  pass(12s);
  ASSERT_GE(proofs.size(), 3u);
  EXPECT_FALSE(proofs[0]) << "nobody knows it yet";
  EXPECT_TRUE(proofs[1]);
  EXPECT_EQ(returns, (std::vector<CallReturn>{{7, 7, 0x40}}));
  // A loop that comes back to the same call: it looks so again, and is looked at so.
  call_returns = 1;
  reports.clear();
  pass(12s);
  EXPECT_TRUE(proofs.back());
  EXPECT_EQ(returns.size(), 1u);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back()["report"]["groups"].items()[0]["standing"].as_string(), "moves");
  // What computes is not, from the second look at it on.
  waits = false;
  pass(300s);
  EXPECT_FALSE(proofs.back());
}

TEST_F(RankLooksTest, ADearLookIsMadeRarelyAlsoWhileItGoesOn) {
  waits = false;
  cpu = glance_cpu = 200ms;
  looks.take(told(1, {{17, 1000}}));
  pass(120s);
  EXPECT_LE(whole, 5) << "a hundredth of a processor";
}

TEST_F(RankLooksTest, ALookThatFailsIsToldAndTriedAgain) {
  broken = true;
  looks.take(told(1, {{17, 1000}}));
  pass(40s);
  EXPECT_EQ(log.size(), 1u) << "said once";
  ASSERT_FALSE(reports.empty());
  EXPECT_THAT(reports[0]["report"]["unread"].dump(), testing::HasSubstr("signal 11"));
  broken = false;
  reports.clear();
  pass(20s);
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports.back()["report"]["groups"].size(), 1u);
}

}  // namespace
}  // namespace sickbay::agent
