// SPDX-License-Identifier: Apache-2.0
// kill -9 of either of two sickbayds at any moment: no event is lost, and nothing is done twice (issue 16).
//
// SB_TWO_KILLS sets how many kills there are, and SB_TWO_SEED the first story; a failure names its story.
#include "test/standby/two_sickbayds.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace sickbay {
namespace {

using Plant = TwoSickbayds::Plant;

constexpr int kKillsOfAStory = 12;

int number(const char* variable, int otherwise) {
  const char* said = std::getenv(variable);
  return said ? std::atoi(said) : otherwise;
}

TEST(TwoSickbayds, AStoryWithoutKillsEnds) {
  TwoSickbayds w(1);
  const TwoSickbayds::Ended ended = w.play(0);
  for (const std::string& what : w.broken) ADD_FAILURE() << what;
  EXPECT_GE(ended.cases.size(), 4U);
  EXPECT_GT(w.acknowledged(), 50U);
  EXPECT_GT(w.effects, 10U);
}

TEST(TwoSickbayds, NoEventIsLostAndNothingIsDoneTwiceWhoeverIsKilled) {
  const int wanted = number("SB_TWO_KILLS", 40);
  int kills = 0, take_overs = 0, mid_effect = 0, stories = 0;
  std::size_t effects = 0, events = 0;
  for (int seed = number("SB_TWO_SEED", 1); kills < wanted; ++seed) {
    SCOPED_TRACE(seed);
    const TwoSickbayds::Ended calm = TwoSickbayds(static_cast<std::uint64_t>(seed)).play(0);
    TwoSickbayds w(static_cast<std::uint64_t>(seed));
    const TwoSickbayds::Ended ended = w.play(std::min(kKillsOfAStory, wanted - kills));
    for (const std::string& what : w.broken) ADD_FAILURE() << what;
    EXPECT_EQ(ended.cases, calm.cases);
    EXPECT_EQ(ended.nodes, calm.nodes);
    if (HasFailure()) return;
    ++stories;
    kills += w.kills;
    take_overs += w.take_overs;
    mid_effect += w.mid_effect;
    effects += w.effects;
    events += w.acknowledged();
    ASSERT_LT(stories, wanted + 10) << "stories are too short for kills";
  }
  std::printf(
      "%d kills in %d stories, %d of them after an effect and before its event; %d take-overs; %zu events "
      "acknowledged, %zu effects\n",
      kills, stories, mid_effect, take_overs, events, effects);
}

// Faults of ours that the story above would find: by the words, for any fault delays a story for hours, too.
void expect_found(Plant plant, std::string_view words) {
  constexpr int kMost = 60;
  for (int seed = 1; seed <= kMost; ++seed) {
    TwoSickbayds w(static_cast<std::uint64_t>(seed), plant);
    (void)w.play(kKillsOfAStory);
    if (w.broken.empty()) continue;
    EXPECT_NE(w.broken.front().find(words), std::string::npos)
        << "story " << seed << ": " << w.broken.front();
    return;
  }
  ADD_FAILURE() << "not found in " << kMost << " stories";
}

TEST(TwoSickbayds, WhoActsBeforeItCountsIsFound) {
  expect_found(Plant::acts_before_it_counts, "was acknowledged and is another one now");
}
TEST(TwoSickbayds, WhoActsWithoutHisLeaseIsFound) { expect_found(Plant::acts_without_lease, "two acted"); }
TEST(TwoSickbayds, WhoDoesNotLookForWhatWasUnderWayIsFound) {
  expect_found(Plant::looks_for_nothing, "a second time");
}

}  // namespace
}  // namespace sickbay
