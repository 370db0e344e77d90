// SPDX-License-Identifier: Apache-2.0
// What befalls two heads (two_heads.h), and that nothing acknowledged is lost by it.
//
// SB_STANDBY_RUNS sets how many seeded stories there are; a failure names its seed.
#include "test/standby/two_heads.h"

#include <cstdlib>

namespace sickbay {
namespace {

int runs() {
  const char* asked = std::getenv("SB_STANDBY_RUNS");
  return asked ? std::atoi(asked) : 4;
}

TEST(TwoHeads, TheFirstIsActiveAndTheOtherFollows) {
  TwoHeads w(1);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_active(1) && w.is_paired(); }));
  w.run(30s);
  EXPECT_TRUE(w.is_active(1));
  EXPECT_EQ(w.view(2)["role"].as_string(), "waiting");
  EXPECT_EQ(w.view(1)["witnesses_here"].as_int(), 3);
  EXPECT_GT(w.acknowledged.size(), 250U);
  w.write_on(false);
  w.run(1s);
  EXPECT_TRUE(rows_of(w.folders().path(1)) == rows_of(w.folders().path(2)));
  w.expect_whole(2);
  EXPECT_EQ(w.terms, 1);
}

TEST(TwoHeads, TheOtherTakesOverAndTheFirstComesBackAsItsStandby) {
  TwoHeads w(2);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  w.run(10s);
  w.kill_head(1);
  const Micros killed = w.elapsed();
  const std::size_t before = w.acknowledged.size();
  ASSERT_TRUE(w.run_until(60s, [&] { return w.is_active(2); }));
  EXPECT_LT(w.elapsed() - killed, 35s);
  w.run(5s);
  EXPECT_GT(w.acknowledged.size(), before + 30) << "it works alone";
  w.start_head(1);
  ASSERT_TRUE(w.run_until(20s, [&] { return w.is_paired(); }));
  EXPECT_TRUE(w.is_active(2));
  // And by hand back.
  w.hand_over(2);
  ASSERT_TRUE(w.run_until(60s, [&] { return w.is_active(1); }));
  ASSERT_TRUE(w.run_until(20s, [&] { return w.is_paired(); }));
  w.write_on(false);
  w.run(1s);
  w.expect_whole(1);
  w.expect_whole(2);
}

TEST(TwoHeads, ARestartOfTheActiveKeepsItActive) {
  TwoHeads w(3);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  w.run(5s);
  w.kill_head(1);
  w.run(2s);
  w.start_head(1);
  ASSERT_TRUE(w.run_until(2s, [&] { return w.is_active(1); }));
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  w.expect_whole(1);
}

TEST(TwoHeads, CutApartTheActiveGoesOnAndTheOtherWaits) {
  TwoHeads w(4);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  w.cut_heads(true);
  ASSERT_TRUE(w.run_until(10s, [&] { return !w.is_paired(); }));
  const std::size_t before = w.acknowledged.size();
  w.run(60s);
  EXPECT_TRUE(w.is_active(1));
  EXPECT_GT(w.acknowledged.size(), before + 400);
  w.kill_head(1);
  w.run(100s);
  EXPECT_EQ(w.active(), 0);
  EXPECT_TRUE(w.view(2)["lacks"].as_bool());
  w.start_head(1);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_active(1); }));
  w.cut_heads(false);
  ASSERT_TRUE(w.run_until(20s, [&] { return w.is_paired(); }));
  w.expect_whole(1);
  EXPECT_EQ(w.terms, 2);
}

TEST(TwoHeads, WhoLosesTheWitnessesStops) {
  TwoHeads w(5);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  for (int i : {0, 1}) w.cut_node(i, 1, true);
  ASSERT_TRUE(w.run_until(80s, [&] { return w.is_active(2); }));
  w.run(5s);
  EXPECT_FALSE(w.is_active(1));
  EXPECT_TRUE(w.is_up(1)) << "it began anew, and follows";
  ASSERT_TRUE(w.run_until(20s, [&] { return w.is_paired(); }));
  w.expect_whole(2);
}

// A node whose disk is full cannot promise anything new; two others can.
TEST(TwoHeads, AWitnessThatCannotKeepItsWordGivesNone) {
  TwoHeads w(6);
  ASSERT_TRUE(w.run_until(5s, [&] { return w.is_paired(); }));
  w.run(2s);  // they have kept that both have all
  for (int i : {0, 1}) w.fill_disk(i, true);
  w.run(40s);
  EXPECT_TRUE(w.is_active(1)) << "a renewal writes nothing";
  w.kill_head(1);
  w.run(100s);
  EXPECT_EQ(w.active(), 0);
  for (int i : {0, 1}) w.fill_disk(i, false);
  EXPECT_TRUE(w.run_until(20s, [&] { return w.is_active(2); }));
  w.expect_whole(2);
}

TEST(TwoHeads, NothingAcknowledgedIsLostWhateverBefallsThem) {
  int both = 0;
  for (int seed = 1; seed <= runs(); ++seed) {
    TwoHeads w(static_cast<std::uint64_t>(seed));
    auto& g = w.random();
    for (int i = 0; i < 30; ++i) {
      const int no = 1 + static_cast<int>(g() % 2), node = static_cast<int>(g() % 3);
      switch (g() % 9) {
        case 0:
          w.kill_head(no);
          break;
        case 1:
        case 2:
          if (!w.is_up(no)) w.start_head(no);
          break;
        case 3:
          w.cut_heads(true);
          break;
        case 4:
          w.cut_heads(false);
          break;
        case 5:
          w.cut_node(node, no, g() % 2 == 0);
          break;
        case 6:
          if (w.is_node_up(node))
            w.stop_node(node);
          else
            w.start_node(node);
          break;
        case 7:
          if (w.is_active(no) && w.is_paired()) w.hand_over(no);
          break;
        default:
          break;
      }
      w.run(Micros(g() % 20'000'000));
    }
    w.cut_heads(false);
    for (int i = 0; i < 3; ++i) {
      for (int no : {1, 2}) w.cut_node(i, no, false);
      if (!w.is_node_up(i)) w.start_node(i);
    }
    for (int no : {1, 2})
      if (!w.is_up(no)) w.start_head(no);
    ASSERT_TRUE(w.run_until(200s, [&] { return w.is_paired(); })) << "seed " << seed;
    w.write_on(false);
    w.run(1s);
    SCOPED_TRACE(seed);
    w.expect_whole(1);
    w.expect_whole(2);
    EXPECT_TRUE(rows_of(w.folders().path(1)) == rows_of(w.folders().path(2)));
    both += w.terms > 1;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(both, runs() / 2);
}

}  // namespace
}  // namespace sickbay
