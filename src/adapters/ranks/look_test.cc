// SPDX-License-Identifier: Apache-2.0
// Looks at real processes.
#include "adapters/ranks/look.h"

#include <gmock/gmock.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <thread>

#include "adapters/ranks/ranks_test_parts.h"
#include "adapters/ranks/snapshot.h"

namespace sickbay::ranks {
namespace {

using testing::HasSubstr;

Status nothing() { return {}; }

LookOrder quick(std::size_t rounds = 2) {
  LookOrder order;
  order.rounds = rounds;
  order.every = std::chrono::milliseconds(60);
  order.patience = std::chrono::milliseconds(2000);  // a machine under load stops a thread late
  order.most_stopping = order.most_unwinding = std::chrono::milliseconds(20000);
  return order;
}

Rank seen(const Target& target, const LookOrder& order = quick()) {
  const node::Tree tree("/");
  auto look = look_at(tree, target.found(), order, nothing);
  EXPECT_TRUE(look) << look.error().line();
  EXPECT_EQ(look->ranks.size(), 1u);
  return look && look->ranks.size() == 1 ? look->ranks[0] : Rank();
}

// "read < blocked_here < ...", without what the C library puts around main.
std::string path(const Rank& rank, std::size_t round, std::size_t thread = 0) {
  std::string text;
  if (round >= rank.rounds.size() || thread >= rank.rounds[round].stacks.size()) return "none";
  for (const RankFrame& f : rank.stacks[rank.rounds[round].stacks[thread]].frames)
    text += (text.empty() ? "" : " < ") + f.function;
  return text;
}

TEST(Look, OneThatIsBlockedInAKnownFunction) {
  const Target target(SB_PLAIN, "blocked");
  ASSERT_TRUE(target.sleeps());
  const Rank rank = seen(target);
  ASSERT_EQ(rank.rounds.size(), 2u);
  EXPECT_EQ(rank.rounds[1].state, 'S');
  EXPECT_EQ(rank.rounds[1].why, "");
  EXPECT_THAT(path(rank, 1), HasSubstr(" < blocked_here < outer_work < main"));
  EXPECT_TRUE(rank.stacks[0].whole);
  // It has not run since: one snapshot, and one stack.
  EXPECT_EQ(rank.stacks.size(), 1u);
}

TEST(Look, WithoutSymbolsThePlacesAreThereAndTheLibrarysNames) {
  const Target target(SB_STRIPPED, "mpi");
  ASSERT_TRUE(target.has_run());
  const Rank rank = seen(target);
  const std::string stack = path(rank, 1);
  EXPECT_THAT(stack, HasSubstr("PMPI_Recv < rank_target_stripped+0x"));
  const auto& frames = rank.stacks[rank.rounds[1].stacks[0]].frames;
  const auto call = std::ranges::find(frames, "PMPI_Recv", &RankFrame::function);
  ASSERT_NE(call, frames.end());
  EXPECT_FALSE(call->program);
  EXPECT_TRUE((call + 1)->program) << stack;
}

TEST(Look, WhoHasNotLeftTheCallHoldsTheSameAndWhoCameBackDoesNot) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target waits(program, "mpi"), again(program, "mpi-again");
    ASSERT_TRUE(waits.has_run() && again.has_run());
    const auto polls = [](const Rank& rank) {
      return rank.rounds.back().cpu_us > rank.rounds.front().cpu_us;
    };
    Rank stays = seen(waits, quick(4));
    // (Processor time counts in hundredths of a second: until it had some, on a machine under load.)
    for (int tries = 0; tries < 20 && !polls(stays); ++tries) stays = seen(waits, quick(4));
    std::set<std::uint64_t> held, others;
    for (const RankRound& r : stays.rounds)
      if (!r.stacks.empty()) held.insert(stays.stacks[r.stacks[0]].held);
    // (So here: whoever got no processor between two rounds did not come back.)
    Rank returns;
    for (int tries = 0; tries < 20 && others.size() < 2; ++tries) {
      returns = seen(again, quick(4));
      others.clear();
      for (const RankRound& r : returns.rounds)
        if (!r.stacks.empty()) others.insert(returns.stacks[r.stacks[0]].held);
    }
    EXPECT_EQ(held.size(), 1u) << program << ": " << path(stays, 0);
    EXPECT_GT(others.size(), 1u) << program << ": " << path(returns, 0);
    EXPECT_TRUE(polls(stays)) << "time alone tells nothing";
  }
}

TEST(Look, AThreadThatSpinsWhileTheFirstWaitsForIt) {
  const Target target(SB_PLAIN, "thread");
  // By its processor time, which counts in hundredths of a second: until it had some, on a machine under
  // load.
  LookOrder order = quick(6);
  order.every = std::chrono::milliseconds(150);
  Rank rank;
  bool found = false;
  for (int tries = 0; tries < 20 && !found; ++tries) {
    rank = seen(target, order);
    for (std::size_t i = 0; i < rank.rounds.size(); ++i)
      found |= rank.rounds[i].stacks.size() > 1 &&
               path(rank, i, 1).find("spinning_here < thread_main") != std::string::npos;
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(path(rank, 0), HasSubstr(" < main"));
  for (const RankRound& round : rank.rounds) {
    ASSERT_EQ(round.threads.size(), round.stacks.size());
    for (std::size_t i = 0; i < round.threads.size(); ++i)
      EXPECT_EQ(round.threads[i] == target.pid(), i == 0);
  }
}

TEST(Look, OneThatIsStoppedStaysSo) {
  const Target target(SB_PLAIN, "spin");
  ASSERT_TRUE(target.has_run());
  ASSERT_EQ(::kill(target.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(target.pid(), &status, WUNTRACED), target.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  const Rank rank = seen(target);
  EXPECT_EQ(rank.rounds[0].state, 'T');
  EXPECT_EQ(rank.rounds[1].state, 'T');
  EXPECT_THAT(path(rank, 1), HasSubstr("spinning_here < main"));
  // (On a busy machine it waits for a processor to stop again.)
  EXPECT_TRUE(target.stands());
}

TEST(Look, OneThatDidNotStopInTimeIsNotFoundStopped) {
  // Without patience hardly any thread stops in time, as none does that waits for a processor.
  const Target target(SB_PLAIN, "spin");
  ASSERT_TRUE(target.has_run());
  LookOrder order = quick();
  order.rounds = kMostRounds;
  order.every = std::chrono::milliseconds(20);
  order.patience = std::chrono::milliseconds(0);
  const Rank rank = seen(target, order);
  std::string states, why;
  for (const RankRound& round : rank.rounds) {
    states += round.state;
    why += round.why;
  }
  EXPECT_EQ(states.find('t'), std::string::npos) << states;
  EXPECT_THAT(why, HasSubstr("did not stop within 0 ms"));
}

TEST(Look, OneThatHasEndedMeanwhile) {
  Target target(SB_PLAIN, "spin");
  const FoundRanks found = target.found();
  target.end();
  const node::Tree tree("/");
  const auto look = look_at(tree, found, quick(), nothing);
  ASSERT_TRUE(look && look->ranks.size() == 1);
  EXPECT_EQ(look->ranks[0].rounds[0].state, 'X');
  EXPECT_EQ(look->ranks[0].rounds[0].why, "it has ended");
  EXPECT_TRUE(look->ranks[0].stacks.empty());
  EXPECT_NE(take_snapshot(found.ranks[0].pid, 4096, std::chrono::milliseconds(10)).why, "");
}

TEST(Look, ANumberThatIsAnotherProcessNow) {
  const Target target(SB_PLAIN, "spin");
  FoundRanks found = target.found();
  ++found.ranks[0].started;
  const node::Tree tree("/");
  const auto look = look_at(tree, found, quick(1), nothing);
  ASSERT_TRUE(look && look->ranks.size() == 1);
  EXPECT_EQ(look->ranks[0].rounds[0].state, 'X');
}

TEST(Look, OneThatAnotherTracesIsLeftToIt) {
  const Target target(SB_PLAIN, "spin");
  std::array<int, 2> ready{}, done{};
  ASSERT_EQ(::pipe(ready.data()) + ::pipe(done.data()), 0);
  const pid_t tracer = ::fork();
  if (tracer == 0) {
    char byte = ::ptrace(PTRACE_SEIZE, target.pid(), nullptr, nullptr) == 0 ? 'y' : 'n';
    if (::write(ready[1], &byte, 1) == 1) (void)!::read(done[0], &byte, 1);
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const Rank rank = seen(target);
  EXPECT_EQ(rank.rounds[0].why, "process " + std::to_string(tracer) + " traces it already");
  EXPECT_TRUE(rank.stacks.empty());
  EXPECT_EQ(::write(done[1], "d", 1), 1);
  ::waitpid(tracer, nullptr, 0);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) ::close(fd);
}

TEST(Look, AnotherUsersProcessIsNotPermitted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const Target target(SB_PLAIN, "spin");
  std::array<int, 2> said{};
  ASSERT_EQ(::pipe(said.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    std::string why = "could not become somebody else";
    if (::setresuid(65534, 65534, 65534) == 0)
      why = take_snapshot(target.pid(), 4096, std::chrono::milliseconds(100)).why;
    ::_exit(::write(said[1], why.data(), why.size()) < 0);
  }
  ::waitpid(child, nullptr, 0);
  char text[256] = "";
  ASSERT_GT(::read(said[0], text, sizeof text - 1), 0);
  EXPECT_STREQ(text, "the system does not permit to trace it");
  ::close(said[0]);
  ::close(said[1]);
}

TEST(Look, AStackThatIsTooLongKeepsBothItsEnds) {
  const Target target(SB_PLAIN, "deep");
  ASSERT_TRUE(target.sleeps());
  const Rank rank = seen(target, quick(1));
  ASSERT_EQ(rank.stacks.size(), 1u);
  const auto& frames = rank.stacks[0].frames;
  EXPECT_LE(frames.size(), kMostFrames);
  EXPECT_THAT(path(rank, 0), HasSubstr(" < blocked_here < deep"));
  EXPECT_THAT(path(rank, 0), HasSubstr(" < ... < "));
  EXPECT_THAT(path(rank, 0), HasSubstr("deep < main"));
  // Of a copy that ends too soon the inner frames are known, and that there are others.
  LookOrder small = quick(1);
  small.most_bytes = 0;  // the least there is
  const Rank cut = seen(target, small);
  EXPECT_THAT(path(cut, 0), HasSubstr(" < blocked_here < deep"));
}

// What the program gives is what it gives when nobody looks.
TEST(Look, TheProgramGoesOnUnharmed) {
  Target alone(SB_PLAIN, "undisturbed");
  const auto [expected, code] = alone.finish();
  ASSERT_EQ(code, 0);
  Target watched(SB_PLAIN, "undisturbed");
  int taken = 0;
  for (int i = 0; i < 100; ++i)
    taken += take_snapshot(watched.pid(), 65536, std::chrono::milliseconds(2000)).why.empty();
  const auto [got, ended] = watched.finish();
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(got, expected);
  EXPECT_GT(taken, 20);
}

TEST(Look, WithoutStacksNothingIsStopped) {
  const Target target(SB_PLAIN, "spin");
  LookOrder order = quick();
  order.stacks = false;
  const Rank rank = seen(target, order);
  EXPECT_TRUE(rank.stacks.empty());
  EXPECT_EQ(rank.rounds[1].why, "");
}

TEST(Look, WhatCannotGiveUpItsRightsReadsNoFile) {
  const Target target(SB_PLAIN, "spin");
  const node::Tree tree("/");
  const auto look = look_at(tree, target.found(), quick(1), [] { return Status(fail(ErrorCode::os, "no")); });
  ASSERT_FALSE(look);
  EXPECT_EQ(look.error().what, "no");
}

}  // namespace
}  // namespace sickbay::ranks
