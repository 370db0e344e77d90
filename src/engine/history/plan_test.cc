// SPDX-License-Identifier: Apache-2.0
// Rewind, and the selective undo: every kind of operation with every thing that may be asked of it.
#include "engine/history/plan.h"

#include <gmock/gmock.h>

#include <array>

#include "engine/history/history_world.h"

namespace sickbay::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kIn = "file:/home/alice/in.dat";

// A job that ran, took two checkpoints, and failed: 17.1 submitted, 17.2 started, 17.3 and 17.4 checkpoints,
// 17.5 ended.
struct Failed : World {
  Failed() {
    submit(3, 17);
    shown(3, 17, "RUNNING");
    told(3, 17, 1);
    told(3, 17, 2);
    shown(3, 17, "FAILED", 0, "n[1-2]", 1);
  }
};

TEST(Plan, RewindGoesToACheckpointAndItsWork) {
  Failed w;
  const auto plan = w.undo(17, "1");
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->to.text(), "17.3");
  EXPECT_EQ(plan->checkpoint, 1);
  EXPECT_EQ(plan->folder, "/scratch/17");
  EXPECT_EQ(plan->source, 3);
  EXPECT_EQ(plan->work, (Work{{kIn, "a"}}));
}

TEST(Plan, AnyOperationAndTheBeginningCanBeGoneBackTo) {
  Failed w;
  EXPECT_EQ(w.undo(17, "17.5")->checkpoint, 2) << "the images are those of the last checkpoint before it";
  EXPECT_EQ(w.undo(17, "17.2")->checkpoint, 0);
  EXPECT_EQ(w.undo(17, "start")->to.text(), "17.1");
  for (const char* nothing : {"3", "17.99", "18.1", "x", "", "-1"}) {
    const auto plan = w.undo(17, nothing);
    ASSERT_FALSE(plan) << nothing;
    EXPECT_EQ(plan.error().code, ErrorCode::not_found) << nothing;
  }
}

TEST(Plan, ARepairIsInTheWorkOfWhatComesAfterIt) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "1"));
  w.repair(17, {{kIn, "a", "b"}, {"exclude", "", "n3"}});
  EXPECT_EQ(made_at(w.state, position_of(w.state, *part_of(w.state, 17))).work,
            (Work{{"exclude", "n3"}, {kIn, "b"}}));
  w.redo(17, 4, 31, "b");
  w.shown(4, 31, "RUNNING");
  w.told(4, 31, 3);
  const auto plan = w.undo(31, "3");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->work, (Work{{"exclude", "n3"}, {kIn, "b"}}));
  EXPECT_EQ(plan->source, 3) << "the submission is the first one's, with the changes since";
}

TEST(Plan, WhoGoesBackFurtherHasTheInputOfThen) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));
  w.repair(17, {{kIn, "a", "b"}});
  w.redo(17, 4, 31, "b");
  EXPECT_EQ(w.undo(31, "1")->work, (Work{{kIn, "a"}})) << "of the old branch, before the repair";
}

TEST(Plan, DropTakesOneRepairOutAndKeepsTheOthers) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));                  // 17.6
  w.repair(17, {{kIn, "a", "b"}});               // 17.7
  w.repair(17, {{"environment:OMP", "", "e"}});  // 17.8
  w.redo(17, 4, 31, "b");
  w.shown(4, 31, "RUNNING");
  w.told(4, 31, 3);
  const auto plan = w.undo(31, "17.7", Ask::drop);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->work, (Work{{"environment:OMP", "e"}, {kIn, "a"}}));
  EXPECT_EQ(plan->checkpoint, 2) << "checkpoint 3 was computed with what is dropped";
  EXPECT_EQ(plan->to.text(), "17.4");
  // And what remains of it can be dropped again.
  w.repair(31, {{"environment:X", "", "x"}});
  const auto again = w.undo(31, position_of(w.state, *part_of(w.state, 31)).text(), Ask::drop);
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ(again->work, (Work{{"environment:OMP", "e"}, {kIn, "a"}}));
}

TEST(Plan, WhatALaterRepairStandsOnIsNotDropped) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));
  w.repair(17, {{kIn, "a", "b"}});
  w.repair(17, {{kIn, "b", "c"}});
  const auto refused = w.undo(17, "7", Ask::drop);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_THAT(refused.error().cause, HasSubstr("17.8 has changed"));
  EXPECT_EQ(w.undo(17, "8", Ask::drop)->work, (Work{{kIn, "b"}}));
}

TEST(Plan, EditLeavesARepairOutForAnother) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));
  w.repair(17, {{kIn, "a", "b"}});
  const auto plan = w.undo(17, "7", Ask::edit);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->work, (Work{{kIn, "a"}}));
  EXPECT_THAT(plan->rest, IsEmpty());
}

TEST(Plan, EditOfTheSubmissionBeginsAnew) {
  Failed w;
  const auto plan = w.undo(17, "1", Ask::edit);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->to.text(), "17.1");
  EXPECT_EQ(plan->checkpoint, 0);
}

TEST(Plan, InsertGoesBeforeAnOperationAndDoesTheRestAgain) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "1"));                  // 17.6
  w.repair(17, {{kIn, "a", "b"}});               // 17.7
  w.repair(17, {{"environment:OMP", "", "e"}});  // 17.8
  const auto plan = w.undo(17, "8", Ask::insert);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->work, (Work{{kIn, "b"}}));
  EXPECT_EQ(plan->checkpoint, 1);
  EXPECT_THAT(plan->rest, ElementsAre(OpRef{17, 8}));
  w.repair(17, {{"exclude", "", "n3"}});
  EXPECT_THAT(rest_of(w.state, position_of(w.state, *part_of(w.state, 17))), ElementsAre(OpRef{17, 8}));
  w.repair(17, {{"environment:OMP", "", "e"}}, "17.8");
  EXPECT_THAT(rest_of(w.state, position_of(w.state, *part_of(w.state, 17))), IsEmpty())
      << "it was done again";
}

TEST(Plan, ADroppedCheckpointIsNotGoneBackTo) {
  Failed w;
  const auto plan = w.undo(17, "4", Ask::drop);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->drops.text(), "17.4");
  EXPECT_FALSE(w.undo(17, "2"));
  EXPECT_EQ(w.undo(17, "17.5")->checkpoint, 1) << "then the one before";
}

TEST(Plan, GoingBackCanItselfBeTakenBack) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));
  w.repair(17, {{kIn, "a", "b"}});
  ASSERT_TRUE(w.undo(17, "1"));  // 17.8
  const auto plan = w.undo(17, "8", Ask::drop);
  ASSERT_TRUE(plan) << plan.error().line();
  EXPECT_EQ(plan->to.text(), "17.7");
  EXPECT_EQ(plan->work, (Work{{kIn, "b"}})) << "with the repair of then";
}

TEST(Plan, WhatIsOnAnotherBranchIsAskedOfThatJob) {
  Failed w;
  ASSERT_TRUE(w.undo(17, "2"));
  w.repair(17, {{kIn, "a", "b"}});
  w.redo(17, 4, 31, "b");
  ASSERT_TRUE(w.undo(17, "1"));
  w.repair(17, {{kIn, "a", "c"}});
  w.redo(17, 5, 32, "c");
  const auto refused = w.undo(32, "17.7", Ask::drop);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().cause, HasSubstr("another branch"));
  EXPECT_TRUE(w.undo(31, "17.7", Ask::drop));
}

// --- the table: every kind of operation, and all that may be asked of it

// A history with every kind in it, and the number of each.
struct Everything : World {
  std::array<int, kWhats> number{};
  Everything() {
    submit(3, 17);
    shown(3, 17, "RUNNING");
    told(3, 17, 1);
    told(3, 17, 2, "failed");
    say("node:n1", kIntent,
        Json::object({{"key", "node:n1.d1"}, {"verb", "drain"}, {"args", Json::object({{"node", "n1"}})}}));
    say("node:n1", kDone, Json::object({{"key", "node:n1.d1"}, {"verb", "drain"}}));
    shown(3, 17, "PENDING", 1);
    shown(3, 17, "RUNNING", 1);
    told(3, 17, 1, "restored", 1);
    shown(3, 17, "NODE_FAIL", 1);
    shown(3, 17, "PENDING", 2);
    say("c3", kJobLost, Json::object({{"run", "c3.r1"}, {"job_id", 17}}));
    EXPECT_TRUE(undo(17, "17.11"));
    repair(17, {{kIn, "a", "b"}});
    for (const auto& [n, op] : part_of(state, 17)->operations) number[static_cast<std::size_t>(op.what)] = n;
  }
};

TEST(Selective, EveryKindOfOperationHasItsRowAndSaysWhyNot) {
  for (std::size_t i = 0; i < kWhats; ++i) {
    const What what = static_cast<What>(i);
    for (const Ask ask : {Ask::drop, Ask::edit, Ask::insert}) {
      Everything w;
      ASSERT_NE(w.number[i], 0) << to_string(what) << " is not in the history of this test";
      const SelectiveRow& row = selective_row(what);
      ASSERT_EQ(row.what, what);
      const std::string_view why_not = ask == Ask::drop ? row.drop : ask == Ask::edit ? row.edit : row.insert;
      const auto plan = make_plan(w.state, *part_of(w.state, 17), {ask, std::to_string(w.number[i])});
      const std::string asked = std::string(to_string(ask)) + " of " + std::string(to_string(what));
      if (!why_not.empty()) {
        ASSERT_FALSE(plan) << asked;
        EXPECT_EQ(plan.error().code, ErrorCode::conflict) << asked;
        EXPECT_EQ(plan.error().cause, why_not) << asked;
      } else if (!plan) {
        EXPECT_THAT(plan.error().cause, HasSubstr("another branch")) << asked;
      }
    }
  }
}

TEST(Selective, TheWholeTable) {
  std::string text;
  for (std::size_t i = 0; i < kWhats; ++i) {
    const SelectiveRow& row = selective_row(static_cast<What>(i));
    const auto word = [](std::string_view why) { return why.empty() ? "yes" : "no"; };
    text += std::string(to_string(row.what)) + ": drop " + word(row.drop) + ", edit " + word(row.edit) +
            ", insert " + word(row.insert) + "\n";
  }
  EXPECT_EQ(text,
            "submitted: drop no, edit yes, insert no\n"
            "started: drop no, edit no, insert yes\n"
            "requeued: drop no, edit no, insert yes\n"
            "ended: drop no, edit no, insert yes\n"
            "lost: drop no, edit no, insert yes\n"
            "checkpoint: drop yes, edit no, insert yes\n"
            "checkpoint_failed: drop no, edit no, insert yes\n"
            "restored: drop no, edit no, insert yes\n"
            "repaired: drop yes, edit yes, insert yes\n"
            "rewound: drop yes, edit no, insert yes\n"
            "operated: drop no, edit no, insert yes\n");
}

}  // namespace
}  // namespace sickbay::history
