// SPDX-License-Identifier: Apache-2.0
#include "engine/history/costs.h"

#include <gmock/gmock.h>

#include "engine/history/history_world.h"

namespace sickbay::history {
namespace {

using ::testing::SizeIs;

std::vector<JobCosts> costs_of_journal(const World& w) {
  CostsOfJournal journal;
  for (const Event& event : w.journal) journal.hear(event);
  return journal.costs();
}

TEST(Costs, AreThoseOfEachJobAlsoWhenItsHistoryIsKeptNoMore) {
  World w;
  w.submit(1, 17);
  w.submit(2, 18);
  w.submit(3, 19);
  w.shown(1, 17, "RUNNING");
  w.shown(2, 18, "RUNNING");
  w.pass(100s);
  w.told(1, 17, 1);
  w.pass(20s);
  w.shown(1, 17, "NODE_FAIL");
  w.shown(2, 18, "COMPLETED");  // no checkpoint, no failure: nothing to tell
  w.shown(3, 19, "RUNNING");
  w.pass(7s);
  w.shown(3, 19, "FAILED", 0, "n1", 1);
  w.say(case_name(1), kArchived, Json::object());

  const auto costs = costs_of_journal(w);
  ASSERT_THAT(costs, SizeIs(2));
  EXPECT_EQ(costs[0].job, 17u);
  ASSERT_THAT(costs[0].account.failures, SizeIs(1));
  EXPECT_EQ(costs[0].account.failures[0].recomputed, 20s);
  EXPECT_EQ(costs[0].account.failures[0].saved(), 100s);
  ASSERT_THAT(costs[0].checkpoints, SizeIs(1));
  EXPECT_EQ(costs[0].checkpoints[0].number, 1);
  EXPECT_EQ(costs[0].checkpoints[0].took, 2s);
  EXPECT_EQ(costs[0].checkpoints[0].at, World::kStart + 100s);
  EXPECT_EQ(costs[1].job, 19u);
  ASSERT_THAT(costs[1].account.failures, SizeIs(1));
  EXPECT_EQ(costs[1].account.failures[0].recomputed, 7s);
}

// An archived job has the same costs as one that is kept, whenever it is archived after its end.
TEST(Costs, DoNotDependOnWhenAJobIsArchived) {
  const auto journal = [](int archive_after) {
    World w;
    w.submit(1, 17);
    w.shown(1, 17, "RUNNING");
    w.pass(60s);
    w.told(1, 17, 1);
    w.pass(30s);
    w.shown(1, 17, "NODE_FAIL");
    for (int i = 0; i < 3; ++i) {
      if (i == archive_after) w.say(case_name(1), kArchived, Json::object());
      w.submit(10 + i, 100 + static_cast<JobId>(i));
    }
    return costs_of_journal(w);
  };
  for (int when = 0; when <= 3; ++when) {  // 3: never
    const auto costs = journal(when);
    ASSERT_THAT(costs, SizeIs(1)) << when;
    EXPECT_EQ(costs[0].account.recomputed(), 30s) << when;
    EXPECT_EQ(costs[0].account.saved(), 60s) << when;
  }
}

}  // namespace
}  // namespace sickbay::history
