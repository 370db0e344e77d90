// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/view.h"

#include <gmock/gmock.h>

#include "engine/cluster/cluster_test_parts.h"

namespace sickbay::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Names = std::set<std::string>;

View seen(std::initializer_list<Json> groups) {
  View view;
  for (const Json& group : groups) apply(view, nodes_seen(Json::array({group})));
  return view;
}

TEST(View, NodesComeChangeTheirPartitionAndGo) {
  View view = seen({group("n[1-3]", "IDLE")});
  ASSERT_NE(view.node("n2"), nullptr);
  EXPECT_EQ(view.node("n2")->state, "IDLE");
  EXPECT_EQ(view.node("n4"), nullptr);
  EXPECT_EQ(view.partitions.at("batch"), (Names{"n1", "n2", "n3"}));

  apply(view, nodes_seen(Json::array({group("n2", "IDLE", {"debug", "long"})})));
  EXPECT_EQ(view.partitions.at("batch"), (Names{"n1", "n3"}));
  EXPECT_EQ(view.partitions.at("debug"), (Names{"n2"}));
  EXPECT_EQ(view.partitions.at("long"), (Names{"n2"}));

  apply(view, nodes_seen(Json::array({gone("n2")})));
  EXPECT_EQ(view.node("n2"), nullptr);
  EXPECT_EQ(view.partitions.at("debug"), Names()) << "it stays, empty";
  EXPECT_EQ(view.partitions.at("batch"), (Names{"n1", "n3"}));

  apply(view, nodes_seen(Json::array({group("n2", "DOWN", {"batch"})})));
  EXPECT_TRUE(view.is_down("n2"));
  EXPECT_EQ(view.partitions.at("batch"), (Names{"n1", "n2", "n3"}));
}

TEST(View, TakesWhateverComes) {
  View view = seen({group("n[1-2]", "IDLE")});
  const std::string before = canonical_text(view);
  apply(view, event_of("c1", "something_of_a_newer_version", Json::object({{"groups", 1}})));
  EXPECT_EQ(canonical_text(view), before);
  // A list of hosts that cannot be read, and no list, change nothing but the count.
  apply(view, nodes_seen(Json::array({group("n[", "DOWN"), Json(7)})));
  apply(view, nodes_seen(Json()));
  EXPECT_EQ(view.looks, 3);
  EXPECT_EQ(view.nodes.size(), 2u);
  EXPECT_FALSE(view.is_down("n1"));
  EXPECT_FALSE(view.is_down("nobody"));
}

TEST(View, KnowsWhoSetANodeDown) {
  const auto down = [](const char* state, const char* reason) {
    return group("n1", state).set("reason", reason).set("reason_uid", 0);
  };
  EXPECT_TRUE(seen({group("n1", "IDLE"), down("DOWN+NOT_RESPONDING", "Not responding")}).is_lost("n1"));
  EXPECT_FALSE(seen({group("n1", "IDLE"), down("DOWN", "disk exchange")}).is_lost("n1"));
  EXPECT_TRUE(seen({group("n1", "IDLE"), group("n1", "DOWN")}).is_lost("n1"))
      << "an older version told no reason, and meant Slurm";
  EXPECT_TRUE(seen({down("IDLE+DRAIN", "fan"), down("DOWN+DRAIN+NOT_RESPONDING", "fan")}).is_lost("n1"));
  EXPECT_FALSE(seen({down("DOWN", "disk exchange"), down("DOWN", "Not responding")}).is_lost("n1"))
      << "it stays whose it was";
  EXPECT_FALSE(seen({down("DOWN", "Not responding"), group("n1", "IDLE")}).is_lost("n1"));
}

TEST(View, ChangesHoldWhatWasBefore) {
  View view = seen({group("n[1-2]", "IDLE")});
  apply(view, nodes_seen(Json::array({group("n2", "DOWN"), group("n7", "IDLE"), gone("n1"), gone("n9")})));
  ASSERT_EQ(view.changes.size(), 4u);
  EXPECT_EQ(view.changes[0].name, "n2");
  ASSERT_TRUE(view.changes[0].before);
  EXPECT_EQ(view.changes[0].before->state, "IDLE");
  EXPECT_EQ(view.changes[0].before->look, 1);
  EXPECT_FALSE(view.changes[0].gone);
  EXPECT_EQ(view.changes[1].name, "n7");
  EXPECT_FALSE(view.changes[1].before) << "it is new";
  EXPECT_EQ(view.changes[2].name, "n1");
  EXPECT_TRUE(view.changes[2].gone);
  EXPECT_TRUE(view.changes[2].before);
  EXPECT_EQ(view.changes[3].name, "n9") << "who never was is gone, too";
  EXPECT_TRUE(view.changes[3].gone);
  EXPECT_FALSE(view.changes[3].before);
  // Of the last event only, whatever it is.
  apply(view, event_of("c1", kVerdict, Json::object()));
  EXPECT_THAT(view.changes, IsEmpty());
}

TEST(View, TellsWhichNodesWentDown) {
  View view = seen({group("n[1-10]", "IDLE"), group("n5", "DOWN")});
  EXPECT_THAT(view.went_down(), ElementsAre("n5"));
  apply(view, nodes_seen(Json::array({group("n[10,2]", "DOWN"), group("n5", "DOWN+DRAIN"),
                                      group("n30", "DOWN"), group("n3", "IDLE+DRAIN"), gone("n1")})));
  EXPECT_THAT(view.went_down(), ElementsAre("n2", "n10", "n30")) << "n5 was down, n30 is new";
  apply(view, nodes_seen(Json::array({group("n2", "IDLE"), gone("n10")})));
  EXPECT_THAT(view.went_down(), IsEmpty());
  apply(view, nodes_seen(Json::array({group("n2", "DOWN")})));
  EXPECT_THAT(view.went_down(), ElementsAre("n2")) << "again";
  // Once, also where one event tells of it twice.
  apply(view, nodes_seen(Json::array({group("n3", "DOWN"), group("n3", "DOWN")})));
  EXPECT_THAT(view.went_down(), ElementsAre("n3"));
  apply(view, event_of("cluster", kControllerSeen, Json::object({{"boot", 7}})));
  EXPECT_THAT(view.went_down(), IsEmpty()) << "that was another event";
}

TEST(View, CountsLooks) {
  View view = seen({group("n[1-3]", "IDLE"), group("n2", "DOWN")});
  EXPECT_EQ(view.looks, 2);
  EXPECT_EQ(view.node("n1")->look, 1);
  EXPECT_EQ(view.node("n2")->look, 2) << "shown anew";
  EXPECT_EQ(view.node("n3")->look, 1);
}

TEST(View, JobsAreKeptForEachSubjectAndRun) {
  View view;
  apply(view, job_seen("c1", "c1.r1", 7));
  apply(view, job_seen("c2", "c2.r1", 7));
  apply(view, job_seen("c1", "c1.v1", 8));
  apply(view, job_seen("c1", "c1.r1", 7, "COMPLETED"));
  ASSERT_NE(view.job({7, "c1", "c1.r1"}), nullptr);
  EXPECT_EQ(view.job({7, "c1", "c1.r1"})->state, "COMPLETED");
  EXPECT_EQ(view.job({7, "c2", "c2.r1"})->state, "RUNNING");
  EXPECT_EQ(view.job({8, "c1", "c1.v1"})->job_id, 8u);
  EXPECT_EQ(view.job({7, "c1", "c1.r2"}), nullptr);
  EXPECT_EQ(view.job({8, "c2", "c1.v1"}), nullptr);
  EXPECT_EQ(view.jobs.size(), 3u);
}

TEST(View, JobsLeaveWhenLostAndWithTheirSubject) {
  for (const std::string_view closing : kClosingKinds) {
    View view;
    apply(view, job_seen("c1", "c1.r1", 7));
    apply(view, job_seen("c1", "c1.r2", 8));
    apply(view, job_seen("c2", "c2.r1", 7));
    apply(view, event_of("c1", kJobLost, Json::object({{"run", "c1.r2"}, {"job_id", 7}})));
    EXPECT_EQ(view.jobs.size(), 3u) << "there is no such one";
    apply(view, event_of("c1", kJobLost, Json::object({{"run", "c1.r1"}, {"job_id", 7}})));
    EXPECT_EQ(view.job({7, "c1", "c1.r1"}), nullptr);
    EXPECT_EQ(view.jobs.size(), 2u) << "the other subject's stays";
    apply(view, event_of("c1", closing, Json::object()));
    ASSERT_EQ(view.jobs.size(), 1u) << closing;
    EXPECT_NE(view.job({7, "c2", "c2.r1"}), nullptr);
  }
}

// What the text leaves out a replay could get wrong unseen.
TEST(View, TheTextDiffersWhenAnythingDiffers) {
  const auto with = [](auto change) {
    View view = seen({group("n[1-2]", "IDLE+DRAIN", {"batch"})});
    apply(view, event_of("cluster", kControllerSeen, Json::object({{"boot", 5}})));
    apply(view, job_seen("c1", "c1.r1", 7));
    change(view);
    return canonical_text(view);
  };
  const std::string text = with([](View&) {});
  EXPECT_EQ(with([](View&) {}), text);
  EXPECT_EQ(with([](View& v) { apply(v, event_of("c1", kVerdict, Json())); }), text)
      << "changes are of one event";
  using Change = void (*)(View&);
  const Change changes[] = {
      [](View& v) { v.nodes["n1"].state = "IDLE"; },
      [](View& v) { v.nodes["n1"].usable = true; },
      [](View& v) { v.nodes["n1"].down = true; },
      [](View& v) { v.nodes["n1"].drained = false; },
      [](View& v) { v.nodes["n1"].partitions = {"debug"}; },
      [](View& v) { v.nodes["n1"].boot = kStart; },
      [](View& v) { v.nodes["n1"].idle = true; },
      [](View& v) { v.nodes["n1"].look = 9; },
      [](View& v) { v.nodes["n9"]; },
      [](View& v) { v.nodes.erase("n1"); },
      [](View& v) { v.partitions["debug"]; },
      [](View& v) { v.partitions["batch"].erase("n1"); },
      [](View& v) { v.controller_boot = kStart; },
      [](View& v) { ++v.looks; },
      [](View& v) { v.jobs.clear(); },
      [](View& v) { v.jobs.begin()->second.state = "FAILED"; },
      [](View& v) { apply(v, job_seen("c2", "c1.r1", 7)); },
      [](View& v) { apply(v, job_seen("c1", "c1.r2", 7)); },
      [](View& v) { apply(v, job_seen("c1", "c1.r1", 8)); },
  };
  Names texts{text};
  for (const Change change : changes) texts.insert(with(change));
  EXPECT_EQ(texts.size(), std::size(changes) + 1) << "each of them, and each otherwise";
}

}  // namespace
}  // namespace sickbay::cluster
