// SPDX-License-Identifier: Apache-2.0
// Healthy programs with long silent phases, made by chance: none of them is ever held for hanging.  And the
// same programs with a deadlock put in: it is found.
//
// A program is a sequence of phases that all ranks go through.  The looks of two agents, at moments of their
// own, are made from what each rank does then; what its stack holds changes as it would: with each turn of a
// loop, with each phase, and not while it waits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>

#include "engine/hang/hang_test_parts.h"

namespace sickbay::hang {
namespace {

using namespace std::chrono_literals;

enum class Phase : std::uint8_t {
  compute,
  slow_rank,
  exchange_loop,
  heap_loop,
  helper,
  file,
  barrier_write,
  sleep,
  start
};

struct Program {
  struct Step {
    Phase phase;
    Micros length;
    int slow;  // rank of slow_rank
  };
  std::vector<Step> steps;
  int ranks = 4;
  std::optional<Micros> deadlock_at;  // from then on all stand in their call
};

// What rank `r` is seen doing at `t` after the start.
Given doing(const Program& p, int r, Micros t, std::mt19937& random) {
  if (p.deadlock_at && t >= *p.deadlock_at) return {std::string(r == 1 ? kInRecv : kInAllreduce), 99, 'R'};
  Micros begin(0);
  std::uint64_t number = 1;
  for (const Program::Step& step : p.steps) {
    ++number;
    if (t >= begin + step.length) {
      begin += step.length;
      continue;
    }
    const std::uint64_t held = number * 1000;
    switch (step.phase) {
      case Phase::compute:
        return {random() % 2 ? "inner < work < main" : "work < main", random()};
      case Phase::slow_rank:
        // The others entered the barrier when the phase began, and hold the same until it ends.
        if (r == step.slow) return {"inner < work < main", random()};
        return {"poll@mpi < PMPI_Barrier@mpi < main", held, random() % 2 ? 'R' : 'S', 500'000};
      case Phase::exchange_loop:
        // Nearly always seen in the same call, turn after turn of 20 ms.
        if (random() % 10 == 0) return {"solve < main", random()};
        return {std::string(kInAllreduce), held + static_cast<std::uint64_t>((t - begin).count() / 20000)};
      case Phase::heap_loop: {
        // What it counts lies on the heap: every stack looks the same, and only the count of returns tells.
        Given given{std::string(kInAllreduce), held};
        given.returns = 1;
        return given;
      }
      case Phase::helper: {
        // All wait, and a thread of rank 0 sleeps, before it sends what they wait for.
        Given given{"poll@mpi < PMPI_Bcast@mpi < main", held};
        if (r == 0) given.sleeper = "clock_nanosleep < sleep < helper";
        return given;
      }
      case Phase::file:
        if (r == 0)
          return {"write@libc < dump < main", random(), random() % 2 ? 'S' : 'D', 20'000, 40'000'000};
        return {"poll@mpi < PMPI_Bcast@mpi < main", held};
      case Phase::barrier_write:
        return {"poll@mpi < PMPI_File_write_all@mpi < main", held, 'S', 0};
      case Phase::sleep:
        if (r == 0) return {"clock_nanosleep@libc < sleep@libc < main", held, 'S', 0};
        return {"poll@mpi < PMPI_Recv@mpi < main", held};
      case Phase::start:
        return {"poll@mpi < PMPI_Init@mpi < main", held, 'S', 0};
    }
  }
  return {"", 1, 'X'};
}

Program some_program(std::mt19937& random) {
  Program p;
  p.ranks = 2 + static_cast<int>(random() % 7);
  p.steps.push_back({Phase::start, Micros(random() % 60'000'000), 0});
  for (int i = 0; i < 12; ++i)
    p.steps.push_back({static_cast<Phase>(random() % 8), Micros(1'000'000 + random() % 600'000'000),
                       static_cast<int>(random() % static_cast<unsigned>(p.ranks))});
  return p;
}

// Two agents look every three seconds or so; gives when a hang was told, from the start.
std::optional<Micros> watch(const Program& p, Micros until, std::mt19937& random,
                            std::string* text = nullptr) {
  const TimePoint zero = from_micros(1'000'000'000);
  std::array<History, 2> agents;
  std::map<std::string, NodeWord> words;
  std::array<Micros, 2> next{Micros(0), Micros(random() % 4'000'000)};
  while (true) {
    const std::size_t agent = next[0] <= next[1] ? 0 : 1;
    const Micros t = next[agent];
    if (t >= until) return std::nullopt;
    RankLook look;
    for (int r = 0; r < p.ranks; ++r) {
      if (static_cast<std::size_t>(r) % 2 != agent) continue;
      std::vector<Given> rounds;
      for (int i = 0; i < 3; ++i) rounds.push_back(doing(p, r, t + Micros(700'000) * i, random));
      look.ranks.push_back(rank(r, p.ranks, rounds, zero + t));
    }
    look.network_bytes = 0;
    look.unsent_bytes = 0;
    const Micros heard = t + 1'600ms;
    words[agent == 0 ? "n1" : "n2"] = {agents[agent].take(look), zero + heard};
    const Judgement now = judge(words, {"n1", "n2"}, {}, zero + heard);
    if (text != nullptr) *text = now.text;
    if (now.word == Word::hang) return heard;
    next[agent] += 2'900ms + Micros(random() % 500'000);
  }
}

TEST(Healthy, NoAlarmInThirtyHours) {
  std::mt19937 random(20261123);
  Micros all(0);
  int programs = 0;
  while (all < Micros(std::chrono::hours(30))) {
    const Program p = some_program(random);
    Micros length(0);
    for (const Program::Step& step : p.steps) length += step.length;
    std::string text;
    const auto alarm = watch(p, length, random, &text);
    ASSERT_FALSE(alarm) << "program " << programs << " after " << alarm->count() / 1000 << " ms: " << text;
    all += length;
    ++programs;
  }
  RecordProperty("programs", programs);
}

TEST(Healthy, ADeadlockPutInIsFoundWithinTenSeconds) {
  std::mt19937 random(7);
  std::vector<Micros> took;
  for (int i = 0; i < 300; ++i) {
    Program p = some_program(random);
    p.deadlock_at = Micros(5'000'000 + random() % 1'000'000'000);
    const auto told = watch(p, *p.deadlock_at + 60s, random);
    ASSERT_TRUE(told) << i;
    // Whoever waited before it already, or all at once: never before the deadlock.
    ASSERT_GT(*told, *p.deadlock_at) << i;
    took.push_back(*told - *p.deadlock_at);
  }
  std::ranges::sort(took);
  EXPECT_LT(took[took.size() * 95 / 100], 10s);
  RecordProperty("p95_ms", static_cast<int>(took[took.size() * 95 / 100].count() / 1000));
}

}  // namespace
}  // namespace sickbay::hang
