// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/breaker.h"

#include <gmock/gmock.h>

#include "engine/cluster/cluster_test_parts.h"

namespace sickbay::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Breaker, BoundsOfTheWindow) {
  const struct {
    int nodes, most, percent, may_leave;
  } rows[] = {
      {1, 5, 5, 1},                                                      // never less than one
      {6, 5, 5, 1},     {19, 5, 5, 1},   {39, 5, 5, 1},  {40, 5, 5, 2},  // rounded down
      {99, 5, 5, 4},    {100, 5, 5, 5},  {200, 5, 5, 5},                 // the smaller of both
      {200, 50, 5, 10}, {200, 0, 5, 10},                                 // 0: percent alone
      {10, 3, 100, 3},  {10, 1, 100, 1}, {10, 5, 0, 1},
  };
  for (const auto& row : rows) {
    Breakers b;
    b.policy.most = row.most;
    b.policy.most_percent = row.percent;
    b.policy.most_out_percent = 100;
    b.see("n[1-" + std::to_string(row.nodes) + "]", "IDLE");
    int left = 0;
    while (left < row.nodes && b.take_out(node_name(left + 1))) ++left;
    EXPECT_EQ(left, row.may_leave) << row.nodes << " nodes, " << row.most << ", " << row.percent << " %";
  }
}

TEST(Breaker, BoundsOfThoseOut) {
  const struct {
    int nodes, percent, may_be_out;
  } rows[] = {{1, 20, 1},   {4, 20, 1},    {9, 20, 1},  {10, 20, 2},
              {99, 20, 19}, {100, 20, 20}, {100, 0, 1}, {7, 100, 7}};
  for (const auto& row : rows) {
    Breakers b;
    b.policy.most = 0;
    b.policy.most_percent = 100;
    b.policy.most_out_percent = row.percent;
    b.see("n[1-" + std::to_string(row.nodes) + "]", "IDLE");
    int out = 0;
    while (out < row.nodes && b.take_out(node_name(out + 1))) ++out;
    EXPECT_EQ(out, row.may_be_out) << row.nodes << " nodes, " << row.percent << " %";
    if (out == row.nodes) continue;
    const Breaker::Held held = b.ask(node_name(out + 1)).held;
    EXPECT_EQ(held.why, std::to_string(out) + " of at most " + std::to_string(out) + " nodes are out by us");
    EXPECT_EQ(held.until, kNever) << "no time is worth waiting for";
    b.bring_back("n1");
    EXPECT_TRUE(b.take_out(node_name(out + 1)));
  }
}

// For who keeps nodes busy for minutes: what the second bound leaves, and nothing while the first is reached.
TEST(Breaker, RoomIsWhatTheSecondBoundLeaves) {
  Breakers b;
  b.policy.most = 2;
  b.policy.most_percent = 100;
  b.see("n[1-20]", "IDLE");
  const auto room = [&b] {
    return b.breaker().room(b.policy, b.cluster.view, b.cluster.claims, "batch", b.now);
  };
  EXPECT_EQ(room(), 4U);
  ASSERT_TRUE(b.take_out("n1"));
  EXPECT_EQ(room(), 3U);
  b.claim("node:n5", "patrol", "p1", false);
  EXPECT_EQ(room(), 3U) << "who asks counts his own";
  ASSERT_TRUE(b.take_out("n2"));
  EXPECT_EQ(room(), 0U) << "two have left in this hour";
  b.now += b.policy.window;
  EXPECT_EQ(room(), 2U);
  EXPECT_EQ(b.breaker().room(b.policy, b.cluster.view, b.cluster.claims, "nowhere", b.now), 1U);
}

TEST(Breaker, SaysWhenItIsWorthAskingAgain) {
  Breakers b;
  b.policy.most_out_percent = 100;
  b.see("n[1-40]", "IDLE");  // two an hour
  ASSERT_TRUE(b.take_out("n1"));
  b.now += 10min;
  ASSERT_TRUE(b.take_out("n2"));
  b.now += 10min;
  const Breaker::Leave leave = b.ask("n3");
  EXPECT_FALSE(leave.granted);
  EXPECT_EQ(leave.held.why, "2 of at most 2 nodes left within 60 min");
  EXPECT_EQ(leave.held.until, kStart + 1h);
  b.now = kStart + 1h - Micros(1);
  EXPECT_FALSE(b.ask("n3").granted);
  b.now = kStart + 1h;
  ASSERT_TRUE(b.take_out("n3"));
  EXPECT_EQ(b.ask("n4").held.until, kStart + 10min + 1h) << "n2's turn";
  // Where more than the bound have left, as others may, so many must be out of the window.
  b.now = kStart + 65min;
  b.see("n[20-22]", "IDLE+DRAIN");
  EXPECT_EQ(b.ask("n4").held.why, "5 of at most 2 nodes left within 60 min");
  EXPECT_EQ(b.ask("n4").held.until, kStart + 65min + 1h);
}

TEST(Breaker, WhoAsksIsNotOutYet) {
  Breakers b;
  b.see("n[1-6]", "IDLE");  // one may be out
  b.claim("node:n1", "drain", "node:n1");
  EXPECT_TRUE(b.ask("n1").granted) << "its claim comes before the leave";
  EXPECT_FALSE(b.ask("n2").granted);
}

TEST(Breaker, ClaimsThatKeepNoNodeOutCountForNothing) {
  Breakers b;
  b.see("n[1-6]", "IDLE");
  b.claim("node:n1", "check", "node:n1", false);
  b.claim("job:17", "replace", "c7", false);
  b.claim("node:x1", "drain", "node:x1");  // of no partition of n2's
  EXPECT_TRUE(b.ask("n2").granted);
}

TEST(Breaker, AClaimThatHasRunOutCountsNoMore) {
  Breakers b;
  b.see("n[1-6]", "IDLE");
  b.claim("node:n1", "check", "node:n1", true, kStart + 1h);
  EXPECT_FALSE(b.ask("n2").granted);
  b.now = kStart + 1h;
  EXPECT_TRUE(b.ask("n2").granted);
  // What drains the node from then on is not ours.
  b.see("n1", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 1u);
}

TEST(Breaker, ANodeOfTwoPartitionsNeedsRoomInBoth) {
  Breakers b;
  b.see("n[1-100]", "IDLE", {"big"});
  b.see("n[1-4]", "IDLE", {"big", "small"});
  ASSERT_TRUE(b.take_out("n1"));
  EXPECT_EQ(b.counted("big"), 1u);
  EXPECT_EQ(b.counted("small"), 1u);
  EXPECT_FALSE(b.take_out("n2")) << "small has no room";
  EXPECT_FALSE(b.breaker().partitions().at("big").tripped);
  EXPECT_TRUE(b.breaker().partitions().at("small").tripped);
  for (const int no : {50, 51, 52, 53}) EXPECT_TRUE(b.take_out(node_name(no)));
  EXPECT_FALSE(b.take_out("n54")) << "big has none either";
  // Of no partition, or unknown: nothing bounds it.
  b.see("x1", "IDLE", {});
  EXPECT_TRUE(b.ask("x1").granted);
  EXPECT_TRUE(b.ask("y1").granted);
}

TEST(Breaker, DrainsOfOthersCountOnce) {
  Breakers b;
  b.see("n[1-6]", "IDLE");
  b.see("n1", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 1u);
  b.see("n1", "MIXED+DRAIN");
  b.see("n1", "DOWN+DRAIN");
  EXPECT_EQ(b.counted(), 1u) << "it was drained before";
  EXPECT_FALSE(b.ask("n2").granted);
  b.see("n1", "IDLE");
  b.see("n1", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 2u) << "anew";
  b.see("n2", "DOWN");
  EXPECT_EQ(b.counted(), 2u) << "no drain";
  b.see("n9", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 2u) << "seen for the first time: it says nothing of when it left";
  b.lose("n2");
  b.see("n2", "DOWN+DRAIN");
  EXPECT_EQ(b.counted(), 2u) << "the same where it comes back";
}

TEST(Breaker, OursCountsWhenIntendedAndNotWhenSeen) {
  Breakers b;
  b.see("n[1-6]", "IDLE");
  ASSERT_TRUE(b.take_out("n1"));
  EXPECT_EQ(b.counted(), 1u);
  b.see("n1", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 1u);
  // Slurm drops it after a reboot in vain; that it is set again takes nothing.
  b.see("n1", "DOWN");
  b.draw("node:n1", {});
  b.see("n1", "DOWN+DRAIN");
  EXPECT_EQ(b.counted(), 1u);
  b.bring_back("n1");
  b.see("n1", "IDLE");
  b.see("n1", "IDLE+DRAIN");
  EXPECT_EQ(b.counted(), 2u) << "now it is somebody's";
}

TEST(Breaker, ACommandMayTakeMoreThanOneNode) {
  Breakers b;
  b.see("n[1-40]", "IDLE");
  b.draw("c7", {"n1", "n2"});
  EXPECT_EQ(b.counted(), 2u);
  EXPECT_FALSE(b.ask("n3").granted);
}

TEST(Breaker, ForgetsWhatLeftBeforeTheLongestWindow) {
  Breakers b;
  b.see("n[1-400]", "IDLE");
  b.draw("c7", {"n1", "n2", "n3"});
  b.now += kLongestWindow;
  b.draw("c7", {"n4"});
  EXPECT_EQ(b.counted(), 4u) << "a window may be that long";
  b.now += Micros(1);
  b.draw("c7", {"n5"});
  EXPECT_EQ(b.counted(), 2u);
}

TEST(Breaker, OnlyTheFirstBoundHoldsWhatIsOutAlready) {
  Breakers b;
  b.policy.most_percent = 20;  // two, and one may be out
  b.policy.most_out_percent = 10;
  b.see("n[1-10]", "IDLE");
  const auto held = [&](const char* node) {
    return b.breaker().held_by_recent(b.policy, b.cluster.view, node, b.now).why;
  };
  ASSERT_TRUE(b.take_out("n1"));
  EXPECT_EQ(held("n2"), "") << "that one is out does not hold it";
  EXPECT_TRUE(b.breaker().is_counted(b.policy, b.cluster.view, "n1", b.now));
  EXPECT_FALSE(b.breaker().is_counted(b.policy, b.cluster.view, "n2", b.now));
  b.see("n3", "IDLE+DRAIN");
  EXPECT_EQ(held("n2"), "2 of at most 2 nodes left within 60 min");
  EXPECT_EQ(held("n1"), "") << "it is one of the two";
  b.now += 1h;
  EXPECT_EQ(held("n2"), "");
  EXPECT_FALSE(b.breaker().is_counted(b.policy, b.cluster.view, "n1", b.now)) << "too long ago";
  b.draw("node:n1", {"n1"});
  b.see("n1", "IDLE", {"batch", "debug"});
  EXPECT_FALSE(b.breaker().is_counted(b.policy, b.cluster.view, "n1", b.now))
      << "not in all of its partitions";
}

TEST(Breaker, WhoWasHeldWaitsUntilItLeavesOrIsNoMore) {
  using End = void (*)(Breakers&);
  const struct {
    const char* what;
    End end;
    bool node_waits, case_waits;
  } rows[] = {
      {"nothing", [](Breakers&) {}, true, true},
      {"its drain", [](Breakers& b) { b.draw("node:n2", {"n2"}); }, false, true},
      {"a command that takes nothing", [](Breakers& b) { b.draw("node:n2", {}); }, true, true},
      {"its end", [](Breakers& b) { b.take(Breaker::wait_ended("node:n2")); }, false, true},
      {"the case's end", [](Breakers& b) { b.take(Breaker::wait_ended("c7")); }, true, false},
      {"a closed case", [](Breakers& b) { b.say("c7", kCaseClosed); }, true, false},
      {"an archived case", [](Breakers& b) { b.say("c7", kArchived); }, true, false},
      {"a node that is gone", [](Breakers& b) { b.lose("n2"); }, false, true},
      {"another that is gone", [](Breakers& b) { b.lose("n5"); }, true, true},
      {"a reset",
       [](Breakers& b) {
         b.say("cluster", kBreakerReset, Json::object({{"partition", "batch"}}));
       },
       true, true},
      {"what an old undo freed",
       [](Breakers& b) {
         b.say("cluster", "undo_drains", Json::object({{"no_longer_wait", Json::array({"node:n2"})}}));
       },
       false, true},
  };
  for (const auto& row : rows) {
    Breakers b;
    b.see("n[1-6]", "IDLE");
    ASSERT_TRUE(b.take_out("n1"));
    EXPECT_FALSE(b.take_out("n2"));
    for (const Event& record : b.ask("n3", "c7").records) b.take(record);
    ASSERT_THAT(b.breaker().waiting(), ElementsAre("c7", "node:n2"));
    row.end(b);
    EXPECT_EQ(b.breaker().waits("node:n2"), row.node_waits) << row.what;
    EXPECT_EQ(b.breaker().waits("c7"), row.case_waits) << row.what;
  }
}

TEST(Breaker, SaysItOnceForEachWhoWaits) {
  Breakers b;
  b.policy.most_out_percent = 100;
  b.see("n[1-6]", "IDLE");
  ASSERT_TRUE(b.take_out("n1"));
  const auto first = b.ask("n2").records;
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].subject, "cluster");
  EXPECT_EQ(first[0].kind, kBreakerTripped);
  EXPECT_EQ(first[0].body.dump(),
            R"({"partition":"batch","node":"n2","why":"1 of at most 1 nodes left within 60 min"})");
  EXPECT_EQ(b.ask("n2").records, first) << "until the journal has it";
  b.take(first[0]);
  EXPECT_THAT(b.ask("n2").records, IsEmpty());
  const auto other = b.ask("n2", "c7").records;
  ASSERT_EQ(other.size(), 1u) << "who else wants it is not yet known to wait";
  EXPECT_EQ(other[0].body["by"].as_string(), "c7");
  b.take(other[0]);
  EXPECT_THAT(b.ask("n2", "c7").records, IsEmpty());

  // When there is room again, that is said with the leave, and once.
  b.now += 1h;
  const Breaker::Leave leave = b.ask("n2");
  EXPECT_TRUE(leave.granted);
  ASSERT_EQ(leave.records.size(), 1u);
  EXPECT_EQ(leave.records[0].kind, kBreakerReset);
  EXPECT_EQ(leave.records[0].body.dump(), R"({"partition":"batch"})");
  b.take(leave.records[0]);
  EXPECT_THAT(b.ask("n2").records, IsEmpty());
  // And when it trips anew, who has waited all along says so anew.
  b.draw("node:n4", {"n4"});
  EXPECT_TRUE(b.breaker().waits("c7"));
  EXPECT_EQ(b.ask("n2", "c7").records.size(), 1u);
}

TEST(Breaker, AJournalOfOnlyOneEngineNamesTheNode) {
  Breakers b;
  b.say("cluster", kBreakerTripped, Json::object({{"partition", "batch"}, {"node", "n2"}, {"why", "so"}}));
  EXPECT_TRUE(b.breaker().waits("node:n2"));
}

TEST(Breaker, TheTextDiffersWhenAnythingDiffers) {
  std::set<std::string> texts;
  using Change = void (*)(Breakers&);
  const Change changes[] = {
      [](Breakers&) {},
      [](Breakers& b) { b.draw("node:n1", {"n1"}); },
      [](Breakers& b) { b.draw("node:n2", {"n2"}); },
      [](Breakers& b) { b.now += 1s, b.draw("node:n1", {"n1"}); },
      [](Breakers& b) {
        b.draw("node:n1", {"n1", "n1"});
      },
      [](Breakers& b) {
        b.say("cluster", kBreakerReset, Json::object({{"partition", "batch"}}));
      },
      [](Breakers& b) { b.take(b.ask("n9", "c7").records.at(0)); },
      [](Breakers& b) { b.take(Breaker::wait_ended("node:n6")); },
  };
  for (const Change change : changes) {
    Breakers b;
    b.see("n[1-9]", "IDLE");
    b.draw("node:n5", {"n5"});
    (void)b.take_out("n6");  // held
    change(b);
    texts.insert(canonical_text(b.breaker()));
  }
  EXPECT_EQ(texts.size(), std::size(changes));
}

}  // namespace
}  // namespace sickbay::cluster
