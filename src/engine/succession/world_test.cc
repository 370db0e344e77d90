// SPDX-License-Identifier: Apache-2.0
// What must hold whatever befalls two sickbayds and their witnesses, in worlds by seed.
//
// SB_SUCCESSION_RUNS sets how many seeded worlds each test makes; a failure names its seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/succession/succession_test_parts.h"

namespace sickbay::succession {
namespace {

int runs() {
  const char* asked = std::getenv("SB_SUCCESSION_RUNS");
  return asked ? std::atoi(asked) : 100;
}

// A world in trouble.
void play(World& w, bool disks_forget = false) {
  w.twice = 0.1;
  w.run(10s);
  trouble(w, 400s, disks_forget);
}

std::size_t some_witnesses(int seed) { return seed % 3 == 0 ? 5 : 3; }

TEST(SuccessionWorld, NeverTwoActAndNothingAcknowledgedIsLost) {
  std::size_t acknowledged = 0;
  int both = 0;
  for (int seed = 1; seed <= runs(); ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed));
    play(w);
    for (const std::string& what : w.wrong) ADD_FAILURE() << what << ", seed " << seed;
    acknowledged += w.acknowledged.size();
    bool who[2] = {false, false};
    for (const World::Entry& e : w.acknowledged) who[e.who] = true;
    both += who[0] && who[1];
  }
  // It shows nothing where nobody acts.
  EXPECT_GT(acknowledged, static_cast<std::size_t>(runs()) * 100);
  EXPECT_GT(both, runs() / 10) << "worlds in which both acted, one after the other";
}

// A node without a disk forgets what it knew of the journals, so data is not looked at here.
TEST(SuccessionWorld, NeverTwoActWhereWitnessesForget) {
  for (int seed = 1; seed <= runs(); ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed));
    play(w, true);
    for (const std::string& what : w.wrong)
      if (what.starts_with("two")) ADD_FAILURE() << what << ", seed " << seed;
  }
}

TEST(SuccessionWorld, SomebodyActsWhenAllIsWellAgain) {
  for (int seed = 1; seed <= runs() / 3; ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed));
    play(w);
    heal(w);
    // The wait of witnesses that began anew, a lease that runs out, some rounds.
    EXPECT_TRUE(w.run_until(kLongestLease + w.timing.lease + 20s, [&] { return w.acts(0) || w.acts(1); }))
        << "seed " << seed;
    // And soon both have all.
    w.is_restless = false;
    EXPECT_TRUE(w.run_until(60s, [&] { return w.log(0) == w.log(1) && (!w.is_alone(0) || !w.is_alone(1)); }))
        << "seed " << seed;
    EXPECT_TRUE(w.wrong.empty()) << "seed " << seed;
  }
}

// One host and a bare majority are enough, unless the other alone has all.
TEST(SuccessionWorld, OneHostAndAMajorityAreEnough) {
  int acted = 0;
  for (int seed = 1; seed <= runs() / 3; ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed));
    play(w);
    heal(w);
    w.run(kLongestLease + w.timing.lease + 60s);
    const int gone = seed % 2, left = 1 - gone;
    w.kill_host(gone);
    for (std::size_t i = 0; i < w.witnesses() / 2; ++i) w.kill_witness(i);
    const bool acts = w.run_until(w.timing.lease + 20s, [&] { return w.acts(left); });
    acted += acts;
    EXPECT_TRUE(acts || w.state(left).lacks) << "seed " << seed;
    EXPECT_TRUE(w.wrong.empty()) << "seed " << seed;
  }
  // Both were well, so the other had all.
  EXPECT_GT(acted, runs() / 3 * 9 / 10);
}

TEST(SuccessionWorld, TheActiveOfTwoIsFollowedInTheMiddleOfWork) {
  for (int seed = 1; seed <= 20; ++seed) {
    World w(3, static_cast<std::uint64_t>(seed));
    ASSERT_TRUE(w.run_until(10s, [&] { return w.acts(0) && !w.is_alone(0); }));
    w.run(20s);
    const std::size_t before = w.acknowledged.size();
    EXPECT_GT(before, 50U);
    w.kill_host(0);
    const Micros killed = w.now();
    ASSERT_TRUE(w.run_until(60s, [&] { return w.acts(1); }));
    EXPECT_LT(w.now() - killed, w.timing.lease + 5s);
    // What comes back follows, and what it had that nobody heard of is gone from it.
    w.run(3s);
    w.start_host(0);
    EXPECT_TRUE(w.run_until(10s, [&] { return !w.is_alone(1) && !w.acts(0); }));
    EXPECT_GT(w.acknowledged.size(), before);
    EXPECT_TRUE(w.wrong.empty());
  }
}

// The active goes on without a standby, which then does not begin with less.
TEST(SuccessionWorld, WhoWasLeftBehindDoesNotBegin) {
  World w(3, 7);
  ASSERT_TRUE(w.run_until(10s, [&] { return w.acts(0) && !w.is_alone(0); }));
  w.hosts_cut = true;
  ASSERT_TRUE(w.run_until(10s, [&] { return w.is_alone(0); }));
  const std::size_t before = w.acknowledged.size();
  w.run(5s);
  EXPECT_GT(w.acknowledged.size(), before) << "it goes on alone";
  EXPECT_TRUE(w.acts(0)) << "a cut between the two ends nobody";
  w.kill_host(0);
  w.run(120s);
  EXPECT_FALSE(w.acts(1));
  EXPECT_TRUE(w.state(1).lacks);
  allow_loss(w.state(1));
  EXPECT_TRUE(w.run_until(10s, [&] { return w.acts(1); })) << "an operator's word";
  EXPECT_FALSE(w.wrong.empty()) << "and the world sees what was lost";
}

TEST(SuccessionWorld, WhoIsCutOffStopsBeforeTheOtherBegins) {
  std::size_t terms = 0;
  for (int seed = 1; seed <= runs() / 10; ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed));
    cut_off_the_active(w, 4);
    for (const std::string& what : w.wrong) ADD_FAILURE() << what << ", seed " << seed;
    for (const World::Entry& e : w.acknowledged) terms += e.id == 0;
  }
  EXPECT_GT(terms, static_cast<std::size_t>(runs() / 10)) << "nobody took over";
}

// Whether the worlds would find what must not be.
bool is_found(Planted planted, std::string_view what) {
  for (int seed = 1; seed <= 200; ++seed) {
    World w(some_witnesses(seed), static_cast<std::uint64_t>(seed), planted);
    cut_off_the_active(w, 4);
    for (const std::string& wrong : w.wrong)
      if (wrong.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(SuccessionWorld, FindsAWitnessThatDoesNotWaitAfterItsStart) {
  EXPECT_TRUE(is_found({.no_wait = true}, "two may act"));
}
TEST(SuccessionWorld, FindsALeaseCountedFromTheAnswer) {
  EXPECT_TRUE(is_found({.late_clock = true}, "two may act"));
}
TEST(SuccessionWorld, FindsWhatIsAcknowledgedBeforeTheWitnessesKnow) {
  EXPECT_TRUE(is_found({.alone_at_once = true}, "without all"));
}
TEST(SuccessionWorld, FindsClocksThatDifferTooMuch) {
  EXPECT_TRUE(is_found({.skew = 300'000}, "two may act"));
}

}  // namespace
}  // namespace sickbay::succession
