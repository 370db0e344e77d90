// SPDX-License-Identifier: Apache-2.0
#include "engine/cluster/node_group.h"

#include <gmock/gmock.h>

#include "model/job.h"

namespace sickbay::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const TimePoint kBoot = from_unix_seconds(1'790'000'000);

NodeInfo info(std::string state, std::vector<std::string> flags = {}) {
  NodeInfo node;
  node.name = "n3";
  node.state = std::move(state);
  node.flags = std::move(flags);
  node.partitions = {"batch", "debug"};
  node.boot_time = kBoot;
  node.cpus = 64;
  node.reason = "fan";
  node.reason_uid = 7;
  return node;
}

TEST(NodeGroup, WhatEnginesAskComesBack) {
  const Node seen = node_of(group_of(info("IDLE", {"DRAIN"}), true));
  EXPECT_EQ(seen.state, "IDLE+DRAIN");
  EXPECT_FALSE(seen.usable);
  EXPECT_FALSE(seen.down);
  EXPECT_TRUE(seen.drained);
  EXPECT_TRUE(seen.idle);
  EXPECT_EQ(seen.boot, kBoot);
  EXPECT_THAT(seen.partitions, ElementsAre("batch", "debug"));
  ASSERT_TRUE(seen.reason);
  EXPECT_EQ(*seen.reason, (NodeReason{"fan", 7}));
  EXPECT_EQ(seen.look, 0) << "the view counts looks";
}

TEST(NodeGroup, OnlyACloseLookTellsOfBootAndIdle) {
  const Json far = group_of(info("IDLE", {"DRAIN"}), false);
  EXPECT_FALSE(far.has("boot") || far.has("idle")) << far.dump();
  Node expected = node_of(group_of(info("IDLE", {"DRAIN"}), true));
  expected.boot = kNoTime;
  expected.idle = false;
  EXPECT_EQ(node_of(far), expected) << "all else is the same";
  // Nodes that look alike are one group, whatever the rest of them is.
  NodeInfo other = info("IDLE", {"DRAIN"});
  other.name = "n4";
  other.boot_time = kBoot + 1h;
  other.cpus = 1;
  EXPECT_EQ(group_of(other, false), far);
  EXPECT_NE(group_of(other, true), group_of(info("IDLE", {"DRAIN"}), true));
}

TEST(NodeGroup, OnlyWhatIsOutHasAReason) {
  EXPECT_FALSE(node_of(group_of(info("IDLE"), true)).reason) << "an old one that nobody cleared";
  EXPECT_TRUE(node_of(group_of(info("DOWN"), false)).reason);
  EXPECT_FALSE(node_of(Json::object({{"state", "DOWN"}, {"down", true}})).reason) << "of an older version";
}

TEST(NodeGroup, ReadsTheStatesOfSlurm) {
  const struct {
    const char* state;
    std::vector<std::string> flags;
    const char* text;
    bool usable, down, drained, idle, reboot_issued;
  } rows[] = {
      {"IDLE", {}, "IDLE", true, false, false, true, false},
      {"MIXED", {}, "MIXED", true, false, false, false, false},
      {"ALLOCATED", {"COMPLETING"}, "ALLOCATED+COMPLETING", true, false, false, false, false},
      {"IDLE", {"DRAIN"}, "IDLE+DRAIN", false, false, true, true, false},
      {"IDLE", {"COMPLETING", "DRAIN"}, "IDLE+COMPLETING+DRAIN", false, false, true, false, false},
      {"DOWN", {}, "DOWN", false, true, false, false, false},
      {"DOWN", {"DRAIN", "NOT_RESPONDING"}, "DOWN+DRAIN+NOT_RESPONDING", false, true, true, false, false},
      {"IDLE",
       {"DRAIN", "REBOOT_REQUESTED"},
       "IDLE+DRAIN+REBOOT_REQUESTED",
       false,
       false,
       true,
       false,
       false},
      {"DOWN", {"DRAIN", "REBOOT_ISSUED"}, "DOWN+DRAIN+REBOOT_ISSUED", false, true, true, false, true},
      // Slurm's marks and sinfo's words.
      {"DOWN*", {"DRAIN"}, "DOWN*+DRAIN", false, true, true, false, false},
      {"DRAINED", {}, "DRAINED", false, false, true, false, false},
      {"DRAINING", {}, "DRAINING", false, false, true, false, false},
      // A flag of a Slurm that is newer than we are, as model/slurm_state.h prints it.
      {"IDLE", {"BIT28"}, "IDLE+BIT28", true, false, false, true, false},
      // To be powered down is not to be drained.
      {"IDLE", {"POWER_DRAIN"}, "IDLE+POWER_DRAIN", false, false, false, true, false},
      // A word that nobody knows is kept for people, and the node is not given work.
      {"SHINY", {}, "SHINY", false, false, false, false, false},
      {"IDLE", {"SHINY"}, "IDLE+SHINY", false, false, false, false, false},
      {"", {}, "", false, false, false, false, false},
  };
  for (const auto& row : rows) {
    const Node node = node_of(group_of(info(row.state, row.flags), true));
    EXPECT_EQ(node.state, row.text);
    EXPECT_EQ(node.usable, row.usable) << row.text;
    EXPECT_EQ(node.down, row.down) << row.text;
    EXPECT_EQ(node.drained, row.drained) << row.text;
    EXPECT_EQ(node.idle, row.idle) << row.text;
    EXPECT_EQ(node.reboot_issued(), row.reboot_issued) << row.text;
  }
}

TEST(NodeGroup, TakesGroupsOfOtherVersions) {
  // Of before there were boot and idle; of after, with members that we do not know; and of nothing at all.
  const Json old = Json::object(
      {{"nodes", "n3"}, {"state", "IDLE"}, {"usable", true}, {"partitions", Json::array({"batch"})}});
  Json newer = old;
  newer.set("down", false).set("gpus", 8).set("why", Json::object({{"a", 1}}));
  const Node node = node_of(old);
  EXPECT_EQ(node.state, "IDLE");
  EXPECT_TRUE(node.usable);
  EXPECT_FALSE(node.down || node.drained || node.idle);
  EXPECT_EQ(node.boot, kNoTime);
  EXPECT_EQ(node_of(newer), node);
  EXPECT_EQ(node_of(Json()), Node());
  // What is of another type is as if it were not there.
  EXPECT_EQ(
      node_of(Json::object({{"state", 7}, {"usable", "yes"}, {"boot", "now"}, {"partitions", "batch"}})),
      Node());
}

TEST(NodeGroup, WhatIsNews) {
  const struct {
    const char* what;
    void (*change)(Node&);
    bool news, closely;
  } rows[] = {
      {"nothing", [](Node&) {}, false, false},
      {"usable", [](Node& n) { n.usable = false; }, true, true},
      {"down", [](Node& n) { n.down = true; }, true, true},
      {"another partition", [](Node& n) { n.partitions = {"debug"}; }, true, true},
      {"one partition more", [](Node& n) { n.partitions.emplace_back("debug"); }, true, true},
      {"from IDLE to ALLOCATED", [](Node& n) { n.state = "ALLOCATED"; }, false, false},
      {"its first reason",
       [](Node& n) {
         n.reason = NodeReason{"fan", 0};
       },
       false, false},
      {"idle", [](Node& n) { n.idle = false; }, false, true},
      {"drained", [](Node& n) { n.drained = true; }, false, true},
      {"booted", [](Node& n) { n.boot += 6s; }, false, true},
      {"the same boot, reckoned anew", [](Node& n) { n.boot += 5s; }, false, false},
      {"the same boot, reckoned before", [](Node& n) { n.boot -= 5s; }, false, false},
      {"an earlier boot", [](Node& n) { n.boot = kNoTime; }, false, false},
      {"another look", [](Node& n) { n.look = 9; }, false, false},
  };
  Node before;
  before.state = "IDLE";
  before.usable = before.idle = true;
  before.partitions = {"batch"};
  before.boot = kBoot;
  for (const auto& row : rows) {
    Node now = before;
    row.change(now);
    EXPECT_EQ(is_news(before, now, false), row.news) << row.what;
    EXPECT_EQ(is_news(before, now, true), row.closely) << row.what << ", closely";
  }
  Node down = before, anew = before;
  down.reason = NodeReason{"fan", 0};
  anew.reason = NodeReason{"Not responding", 0};
  EXPECT_TRUE(is_news(down, anew, false));
}

}  // namespace
}  // namespace sickbay::cluster
