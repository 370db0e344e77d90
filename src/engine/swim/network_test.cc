// SPDX-License-Identifier: Apache-2.0
// Groups in a simulated network: nobody who lives is told of, and who dies is told of in time.
//
// SB_SWIM_RUNS sets how many seeded runs each test makes; a failure names its seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "engine/swim/swim_test_parts.h"

namespace sickbay::swim {
namespace {

int runs() {
  const char* asked = std::getenv("SB_SWIM_RUNS");
  return asked ? std::atoi(asked) : 24;
}

// 2 to 200, small ones more often.
std::size_t some_size(std::mt19937_64& g, std::size_t least = 2) {
  const double low = std::log(static_cast<double>(least)), high = std::log(200.99);
  return static_cast<std::size_t>(std::exp(std::uniform_real_distribution<>(low, high)(g)));
}

SwimIndex some_member(Network& n) { return static_cast<SwimIndex>(n.generator()() % n.size()); }

std::string text(const Network::Told& t) {
  return std::to_string(t.by) + (t.report.silent ? " tells of " : " takes back ") +
         std::to_string(t.report.member) + " at " + std::to_string(t.at.count() / 1000) + " ms";
}

void expect_nobody_told(const Network& n, std::uint64_t seed, const char* what) {
  for (const Network::Told& t : n.told)
    ADD_FAILURE() << what << ", seed " << seed << ", N " << n.size() << ": " << text(t);
}

TEST(Network, NobodyIsToldOfAtFivePercentLossUnderLoad) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g), seed);
    n.loss = 0.05;
    n.lag = 30ms;
    n.run(20s);
    expect_nobody_told(n, seed, "loss");
  }
}

TEST(Network, NobodyIsToldOfWhoWasPausedForTwoSeconds) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g), seed);
    if (seed % 2) n.loss = 0.05;
    for (int i = 0; i < 3; ++i)
      n.later(2s + 3s * i + std::chrono::milliseconds(g() % 900), [&] { n.pause(some_member(n), 2s); });
    n.run(14s);
    expect_nobody_told(n, seed, "pause");
  }
}

TEST(Network, NobodyIsToldOfWhenAllArePausedTogether) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g), seed);
    n.later(3s, [&] {
      for (SwimIndex i = 0; i < n.size(); ++i) n.pause(i, std::chrono::milliseconds(g() % 2000));
    });
    n.run(10s);
    expect_nobody_told(n, seed, "all paused");
  }
}

TEST(Network, NobodyIsToldOfWhenClocksStep) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g), seed);
    n.loss = 0.05;
    const Micros steps[] = {300s, -300s, 2s, -2s, 86400s, 400ms, -400ms};
    for (int i = 0; i < 6; ++i)
      n.later(2s + std::chrono::milliseconds(g() % 8000), [&, by = steps[g() % 7]] {
        const SwimIndex who = some_member(n);
        n.step(who, by);
      });
    n.run(14s);
    expect_nobody_told(n, seed, "clock step");
  }
}

TEST(Network, NobodyIsToldOfWhoIsCutOffFromSomeOnly) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g, 4), seed);
    if (seed % 2) n.loss = 0.02;
    // One way or both, of up to a quarter of the links that a member has.
    for (std::size_t i = 0; i <= n.size() / 4; ++i)
      n.later(2s + std::chrono::milliseconds(g() % 3000), [&] {
        const SwimIndex a = some_member(n), b = some_member(n);
        n.cut.insert({a, b});
        if (n.generator()() % 2) n.cut.insert({b, a});
      });
    n.run(16s);
    expect_nobody_told(n, seed, "links");
  }
}

TEST(Network, NobodyIsToldOfWhoHearsNobodyButIsHeard) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g, 3), seed);
    if (seed % 2) n.loss = 0.02;
    const SwimIndex deaf = some_member(n);
    n.later(3s + std::chrono::milliseconds(g() % 1000), [&] {
      for (SwimIndex i = 0; i < n.size(); ++i) n.cut.insert({i, deaf});
    });
    n.run(14s);
    expect_nobody_told(n, seed, "deaf");
  }
}

TEST(Network, NobodyIsToldOfWhoseAgentStartsAnew) {
  for (int seed = 1; seed <= runs(); ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g), seed);
    n.loss = 0.05;
    for (int i = 0; i < 3; ++i)
      n.later(3s + 3s * i + std::chrono::milliseconds(g() % 1000), [&] {
        const SwimIndex who = some_member(n);
        n.pause(who, 1500ms);
        n.later(n.now() + 1500ms, [&n, who] { n.restart(who); });
      });
    n.run(14s);
    expect_nobody_told(n, seed, "restart");
  }
}

// A split is told of by both sides: whom to believe is asked of the second way (engine/detect).  A split that
// heals is taken back.
TEST(Network, ASplitIsTakenBackWhenItHeals) {
  for (int seed = 1; seed <= runs() / 4; ++seed) {
    std::mt19937_64 g(seed);
    Network n(some_size(g, 4), seed);
    const auto side = [&](SwimIndex i) { return i % 2; };
    n.later(3s, [&] {
      for (SwimIndex a = 0; a < n.size(); ++a)
        for (SwimIndex b = 0; b < n.size(); ++b)
          if (side(a) != side(b)) n.cut.insert({a, b});
    });
    n.later(15s, [&] { n.cut.clear(); });
    n.run(40s);
    std::map<std::pair<SwimIndex, SwimIndex>, bool> last;
    for (const Network::Told& t : n.told) {
      EXPECT_NE(side(t.by), side(t.report.member)) << "seed " << seed << ": " << text(t);
      last[{t.by, t.report.member}] = t.report.silent;
    }
    EXPECT_FALSE(last.empty()) << "seed " << seed;
    for (const auto& [who, silent] : last)
      EXPECT_FALSE(silent) << "seed " << seed << ": " << who.first << " still tells of " << who.second;
  }
}

struct Latency {
  std::vector<Micros> all;
  Micros at(double share) {
    std::ranges::sort(all);
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  }
};

Latency latency_of_kills(int count, double loss, Micros lag) {
  Latency latency;
  for (int seed = 1; seed <= count; ++seed) {
    std::mt19937_64 g(seed * 7919);
    Network n(some_size(g), seed);
    n.loss = loss;
    n.lag = lag;
    const SwimIndex victim = some_member(n);
    const Micros at = 5s + Micros(g() % 1'000'000);
    n.later(at, [&] { n.kill(victim); });
    n.run(20s);
    Micros first = 15s;
    for (const Network::Told& t : n.told) {
      EXPECT_EQ(t.report.member, victim) << "seed " << seed << ": " << text(t);
      EXPECT_TRUE(t.report.silent) << "seed " << seed << ": " << text(t);
      EXPECT_EQ(t.report.seen_by.empty(), n.size() == 2) << "seed " << seed;
      first = std::min(first, t.at - at);
    }
    EXPECT_FALSE(n.told.empty()) << "seed " << seed << ", N " << n.size() << ": nobody noticed";
    latency.all.push_back(first);
  }
  return latency;
}

TEST(Network, AKilledNodeIsToldOfWithinThreeSeconds) {
  for (const auto& [name, loss, lag] :
       {std::tuple("quiet", 0.0, Micros(0)), std::tuple("5 % loss, 30 ms lag", 0.05, Micros(30ms))}) {
    Latency latency = latency_of_kills(runs(), loss, lag);
    std::printf("killed, %s: median %.2f s, p95 %.2f s, longest %.2f s\n", name,
                latency.at(0.5).count() / 1e6, latency.at(0.95).count() / 1e6, latency.at(1).count() / 1e6);
    EXPECT_LE(latency.at(0.95), 3s) << name;
  }
}

TEST(Network, ARackThatLosesPowerIsToldOf) {
  for (int seed = 1; seed <= runs() / 4; ++seed) {
    std::mt19937_64 g(seed);
    Network n(16 + g() % 100, seed);
    n.later(5s, [&] {
      for (SwimIndex i = 4; i < 8; ++i) n.kill(i);
    });
    n.run(15s);
    std::map<SwimIndex, Micros> first;
    for (const Network::Told& t : n.told) {
      EXPECT_TRUE(t.report.member >= 4 && t.report.member < 8) << text(t);
      if (!first.contains(t.report.member)) first[t.report.member] = t.at - 5s;
    }
    EXPECT_EQ(first.size(), 4u) << "seed " << seed;
    for (const auto& [member, after] : first)
      EXPECT_LE(after, 6s) << "seed " << seed << " member " << member << " N " << n.size();
  }
}

TEST(Network, CostsLessThanOneKilobyteASecond) {
  for (const std::size_t members : {2u, 4u, 20u, 200u}) {
    Network n(members, members);
    n.run(10s);
    const auto messages = n.messages, bytes = n.bytes;
    n.run(70s);
    const double rate = static_cast<double>(n.bytes - bytes) / 60 / static_cast<double>(members);
    std::printf("%zu members: %.1f messages and %.0f bytes a second sent by each, as many received\n",
                members, static_cast<double>(n.messages - messages) / 60 / static_cast<double>(members),
                rate);
    EXPECT_LE(2 * rate, 1024) << members;
    EXPECT_TRUE(n.told.empty());
  }
}

}  // namespace
}  // namespace sickbay::swim
