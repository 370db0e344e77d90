// SPDX-License-Identifier: Apache-2.0
#include "engine/history/history.h"

#include <gmock/gmock.h>

#include "engine/history/history_world.h"
#include "engine/history/inverses.h"
#include "model/verbs.h"

namespace sickbay::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(History, AJobFromItsSubmissionToItsEnd) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  w.pass(60s);
  w.told(3, 17, 1);
  w.told(3, 17, 2, "failed");
  w.shown(3, 17, "FAILED", 0, "n[1-2]", 1);
  w.shown(3, 17, "FAILED", 0, "n[1-2]", 1);
  EXPECT_THAT(w.lines(17), ElementsAre("1 submitted", "2 under 17.1 started", "3 under 17.2 checkpoint 1",
                                       "4 under 17.3 checkpoint_failed 2", "5 under 17.4 ended FAILED"));
  const Part& part = *part_of(w.state, 17);
  EXPECT_EQ(part.owner.user, "alice");
  EXPECT_EQ(part.inputs.at("file:/home/alice/in.dat"), "a");
  EXPECT_THAT(part.arguments, ElementsAre("fast"));
  EXPECT_TRUE(part.ended);
  EXPECT_EQ(w.replayed(), canonical_text(w.state));
}

TEST(History, ARequeuedJobThatGoesOnFromAnEarlierCheckpointBranchesThere) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  w.told(3, 17, 1);
  w.told(3, 17, 2);
  w.shown(3, 17, "PENDING", 1);
  w.shown(3, 17, "RUNNING", 1);
  w.told(3, 17, 1, "restored", 1);
  w.told(3, 17, 3, "taken", 1, 1);
  EXPECT_THAT(w.lines(17),
              ElementsAre("1 submitted", "2 under 17.1 started", "3 under 17.2 checkpoint 1",
                          "4 under 17.3 checkpoint 2", "5 under 17.4 requeued", "6 under 17.5 started",
                          "7 under 17.3 restored 1", "8 under 17.7 checkpoint 3"));
}

TEST(History, TheJobMayTellOfItsRestartBeforeSlurmIsLookedAt) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  w.told(3, 17, 1, "taken", 1);
  w.shown(3, 17, "RUNNING", 1);
  EXPECT_THAT(w.lines(17), ElementsAre("1 submitted", "2 under 17.1 started", "3 under 17.2 requeued",
                                       "4 under 17.3 checkpoint 1", "5 under 17.4 started"));
}

TEST(History, GoingOnDifferentlyIsABranchAndNothingIsGone) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  w.told(3, 17, 1);
  w.told(3, 17, 2);
  w.shown(3, 17, "FAILED");
  const auto before = w.lines(17);
  ASSERT_TRUE(w.undo(17, "1"));
  w.repair(17, {{"file:/home/alice/in.dat", "a", "b"}});
  w.redo(17, 4, 31, "b");
  w.shown(4, 31, "RUNNING");
  const auto after = w.lines(17);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin())) << "undo deletes nothing";
  EXPECT_EQ(after[5], "6 under 17.3 rewound");
  EXPECT_EQ(after[6], "7 under 17.6 repaired");
  EXPECT_THAT(w.lines(31), ElementsAre("1 under 17.7 submitted", "2 under 31.1 started"));
  EXPECT_EQ(part_of(w.state, 31)->base_checkpoint, 1);
  EXPECT_THAT(tree_of(w.state, *part_of(w.state, 31)), SizeIs(2));
  EXPECT_EQ(tree_of(w.state, *part_of(w.state, 31)).front()->job, 17U);
  const Json view = history_view(w.state, *part_of(w.state, 31));
  EXPECT_EQ(view["parts"].size(), 2U);
  EXPECT_EQ(view["position"]["op"].as_string(), "17.7");
  EXPECT_EQ(view["position"]["replays"].dump(), "[31]");
  EXPECT_EQ(view["position"]["folder"].as_string(), "/scratch/17");
  EXPECT_EQ(w.replayed(), canonical_text(w.state));
}

TEST(History, AReplayOfAnothersJobStandsForItself) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  ASSERT_TRUE(w.undo(17, "start"));
  const Json replays = Json::object({{"replays", Json::object({{"op", "17.3"}, {"checkpoint", 0}})}});
  w.submit(4, 31, "a", replays, "bob", 60002);
  EXPECT_FALSE(part_of(w.state, 31)->base);
  w.submit(5, 32, "a", replays);
  EXPECT_TRUE(part_of(w.state, 32)->base);
}

TEST(History, JobArraysAndTheirTasksHaveNone) {
  World w;
  w.submit(3, 17, "a", Json::object({{"array", "0-5"}}));
  w.submit(4, 18, "a", Json::object({{"parent", "c3"}, {"task", "2"}}));
  EXPECT_THAT(w.state.parts, IsEmpty());
}

TEST(History, WhatSickbayDoesToANodeIsInTheHistoryOfTheJobsThere) {
  World w;
  w.submit(3, 17);
  w.submit(4, 18);
  w.shown(3, 17, "RUNNING");
  w.shown(4, 18, "RUNNING", 0, "n3");
  const auto act = [&](const char* verb, const char* key, const char* kind) {
    const Json args = Json::object({{"node", "n2"}});
    w.say("node:n2", kIntent, Json::object({{"key", key}, {"verb", verb}, {"args", args}}));
    w.say("node:n2", kind, Json::object({{"key", key}, {"verb", verb}}));
  };
  act("drain", "node:n2.d1", "done");
  act("reboot", "node:n2.b1", "failed");
  act("ask_node", "node:n2.q1", "done");
  EXPECT_THAT(w.lines(17), ElementsAre("1 submitted", "2 under 17.1 started", "3 under 17.2 operated drain"));
  EXPECT_THAT(w.lines(18), SizeIs(2));
  ASSERT_EQ(acts_view(w.state).size(), 1U);
  EXPECT_EQ(acts_view(w.state).items()[0]["act"].as_string(), "node:n2.d1");
  EXPECT_EQ(acts_view(w.state).items()[0]["undo"].as_string(), "here");
  EXPECT_THAT(w.state.intents, IsEmpty());
}

TEST(History, TheOldestCheckpointsMakeRoom) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  const int many = static_cast<int>(kMostOperations) + 50;
  for (int n = 1; n <= 10; ++n) w.told(3, 17, n);
  ASSERT_TRUE(w.undo(17, "4"));
  for (int n = 11; n <= many; ++n) w.told(3, 17, n);
  const Part& part = *part_of(w.state, 17);
  EXPECT_EQ(part.operations.size(), kMostOperations);
  EXPECT_EQ(part.left_out, 53);
  EXPECT_EQ(find_checkpoint(w.state, part, 3), OpRef{});
  EXPECT_NE(find_checkpoint(w.state, part, 4), OpRef{}) << "a branch begins there";
  EXPECT_NE(find_checkpoint(w.state, part, many), OpRef{});
  EXPECT_EQ(path_to(w.state, part.ref(part.tip)).front(), (OpRef{17, 1})) << "the way back is whole";
  EXPECT_EQ(w.replayed(), canonical_text(w.state));
}

TEST(History, WhatIsArchivedLeavesWhatAReplayWithoutItGives) {
  World w;
  w.submit(3, 17);
  w.shown(3, 17, "RUNNING");
  w.told(3, 17, 1);
  ASSERT_TRUE(w.undo(17, "1"));
  w.redo(17, 4, 31);
  w.shown(4, 31, "RUNNING");
  w.told(4, 31, 1, "restored");
  w.say("node:n1", kDetectAsked, Json::object({{"detect", "fast"}, {"by", "alice"}}));
  w.say("c3", kArchived, Json::object());
  World without;
  for (const Event& event : w.journal)
    if (event.subject != "c3") {
      without.now = event.at;
      without.say(event.subject, event.kind, event.body);
    }
  EXPECT_EQ(canonical_text(w.state), canonical_text(without.state));
  EXPECT_EQ(part_of(w.state, 17), nullptr);
  EXPECT_THAT(w.lines(31), SizeIs(3));
}

TEST(History, AJobIdThatComesAgainIsTheNewJobs) {
  World w;
  w.submit(3, 17);
  w.submit(9, 17);
  EXPECT_EQ(part_of(w.state, 17)->case_no, 9);
}

TEST(OpRef, IsReadAsItIsWritten) {
  EXPECT_EQ(parse_op("17.4")->text(), "17.4");
  for (const char* wrong : {"", "17", "17.", ".4", "17.0", "17.-1", "17.4x", "017.4", "17.99999999999"})
    EXPECT_FALSE(parse_op(wrong)) << wrong;
}

TEST(Told, EachPartHasABound) {
  const Json good = Json::object({{"job", 17}, {"checkpoint", 2}, {"event", "taken"}, {"folder", "/s"}});
  ASSERT_TRUE(Told::from_request(good));
  const struct {
    const char* name;
    Json value;
  } wrong[] = {{"job", 0},
               {"job", "17"},
               {"job", Json()},
               {"job", std::int64_t{1} << 33},
               {"checkpoint", 0},
               {"checkpoint", Json()},
               {"event", "took"},
               {"folder", "relative"},
               {"folder", std::string("/a\nb")},
               {"folder", "/" + std::string(5000, 'x')},
               {"bytes", -1},
               {"stored_bytes", 1.5},
               {"seconds", -1},
               {"seconds", 1e9},
               {"seconds", "2"},
               {"ranks", -4},
               {"restart", -1},
               {"tier", "tape"},
               {"parent", 0},
               {"why", 5}};
  for (const auto& row : wrong) {
    Json body = good;
    body.set(row.name, row.value);
    const auto told = Told::from_request(body);
    ASSERT_FALSE(told) << row.name << " " << row.value.dump();
    EXPECT_THAT(told.error().what, HasSubstr(row.name));
  }
  Json full = good;
  full.set("restart", 1)
      .set("seconds", 1.5)
      .set("tier", "memory")
      .set("parent", 1)
      .set("ranks", 8)
      .set("why", "x");
  const auto told = Told::from_request(full);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->took, Micros(1'500'000));
  EXPECT_EQ(Told::from_json(told->to_json()), *told);
}

}  // namespace
}  // namespace sickbay::history
