// SPDX-License-Identifier: Apache-2.0
#include "model/pending_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace sickbay {
namespace {

NodeOffer offer(std::string name, std::string_view state, std::string features = "",
                std::string devices = "") {
  NodeOffer node;
  node.name = std::move(name);
  node.state = parse_node_state(state).value();
  node.cpus = 4;
  node.memory_mib = 8000;
  node.disk_mib = 100;
  node.features = std::move(features);
  node.devices = std::move(devices);
  node.reason = "why";
  return node;
}

std::string text_of(const std::vector<PendingNodes>& groups) {
  std::string text;
  for (const PendingNodes& g : groups)
    text += fmt::format("{}{} {} {}{}", text.empty() ? "" : "; ", to_string(g.hurdle), g.nodes, g.count,
                        g.reason.empty() ? "" : " " + g.reason);
  return text;
}

TEST(PendingFacts, ConstraintsAreReadAsSbatchWritesThem) {
  const struct {
    const char* constraint;
    const char* features;
    std::optional<bool> met;
  } rows[] = {
      {"gpu", "gpu,ib", true},
      {"gpu", "ib", false},
      {"gpu", "", false},
      {"gp", "gpu", false},
      {"gpu&ib", "gpu,ib", true},
      {"gpu&ib", "gpu", false},
      {"gpu,ib", "gpu", false},
      {"a|b", "b", true},
      {"a|b", "c", false},
      {"[a|b]", "b", true},
      {"(a|b)&ib", "b,ib", true},
      {"(a|b)&ib", "b", false},
      {"((a))", "a", true},

      // counts: nodes of different kinds in one job
      {"gpu*2&ib*4", "ib", true},
      {"[gpu*2&ib*4]", "x", false},

      // not to be read: nothing is claimed
      {"", "a", std::nullopt},
      {"a&", "a", std::nullopt},
      {"(a", "a", std::nullopt},
      {"a)", "a", std::nullopt},
      {"a*", "a", std::nullopt},
      {"((((((((((((((((((((a))))))))))))))))))))", "a", std::nullopt},
  };
  for (const auto& row : rows)
    EXPECT_EQ(meets_constraint(row.constraint, row.features), row.met)
        << row.constraint << " of " << row.features;
}

TEST(PendingFacts, NodesAreSortedByWhatKeepsThemFromTheJob) {
  const struct {
    const char* state;
    const char* group;
  } rows[] = {
      {"IDLE", "idle n1 1"},
      {"ALLOCATED", "busy n1 1"},
      {"MIXED", "busy n1 1"},
      {"IDLE+COMPLETING", "busy n1 1"},
      {"IDLE+PLANNED", "planned n1 1"},
      {"IDLE+RESERVED", "reserved n1 1"},
      {"IDLE+MAINTENANCE", "reserved n1 1"},
      {"IDLE+DRAIN", "drained n1 1 why"},
      {"ALLOCATED+DRAIN", "drained n1 1 why"},
      {"DOWN", "down n1 1 why"},
      {"DOWN+DRAIN", "down n1 1 why"},
      {"IDLE+NOT_RESPONDING", "down n1 1 why"},
      {"IDLE+POWERED_DOWN", "idle n1 1"},  // Slurm powers it up for the job
  };
  for (const auto& row : rows)
    EXPECT_EQ(text_of(sort_nodes({}, {offer("n1", row.state)})), row.group) << row.state;
}

TEST(PendingFacts, WhatANodeLacksIsSaid) {
  using Ask = void (*)(PendingRequest&);
  const struct {
    Ask ask;
    const char* groups;
  } rows[] = {
      {[](PendingRequest&) {}, "idle n[1-3] 3"},
      {[](PendingRequest& r) { r.features = "gpu"; }, "idle n2 1; unfit n[1,3] 2 without feature gpu"},
      {[](PendingRequest& r) { r.features = "("; }, "idle n[1-3] 3"},
      {[](PendingRequest& r) { r.cpus_per_node = 5; }, "unfit n[1-3] 3 fewer than 5 CPUs"},
      {[](PendingRequest& r) { r.memory_mib = 8001; }, "unfit n[1-3] 3 less than 8001 MiB of memory"},
      {[](PendingRequest& r) { r.disk_mib = 101; }, "unfit n[1-3] 3 less than 101 MiB of temporary disk"},
      {[](PendingRequest& r) { r.excluded = {"n1"}; }, "idle n[2-3] 2; unfit n1 1 excluded by the job"},
      {[](PendingRequest& r) { r.devices = "gres:gpu:2"; }, "idle n2 1; unfit n[1,3] 2 without gres:gpu:2"},
      {[](PendingRequest& r) { r.devices = "gres/gpu:a100:5"; }, "unfit n[1-3] 3 without gres/gpu:a100:5"},
      {[](PendingRequest& r) { r.devices = "gres:gpu:h100"; }, "unfit n[1-3] 3 without gres:gpu:h100"},

      // nodes by name: all of them, or some of more
      {[](PendingRequest& r) { r.required = {"n3"}; },
       "idle n3 1; unfit n[1-2] 2 not among the nodes that the job names"},
      {[](PendingRequest& r) { r.required = {"n3"}, r.min_nodes = 2; }, "idle n[1-3] 3"},

      {[](PendingRequest& r) { r.reservation = "maint"; },
       "idle n1 1; unfit n[2-3] 2 outside of reservation maint"},
  };
  std::vector<NodeOffer> offers = {offer("n1", "IDLE"), offer("n2", "IDLE", "gpu", "gpu:a100:4(S:0-1)"),
                                   offer("n3", "IDLE")};
  offers[0].in_reservation = true;
  for (const auto& row : rows) {
    PendingRequest request;
    row.ask(request);
    EXPECT_EQ(text_of(sort_nodes(request, offers)), row.groups);
  }
}

TEST(PendingFacts, ManyReasonTextsShareAGroup) {
  std::vector<NodeOffer> offers;
  for (int i = 1; i <= 1000; ++i) {
    offers.push_back(offer(fmt::format("n{}", i), "IDLE+DRAIN"));
    offers.back().reason = fmt::format("disk of n{}", i);
  }
  const auto groups = sort_nodes({}, offers);
  EXPECT_LE(groups.size(), kMostReasonGroups + 1);
  std::uint32_t nodes = 0;
  for (const PendingNodes& group : groups) nodes += group.count;
  EXPECT_EQ(nodes, 1000u) << "none is lost";
}

TEST(PendingFacts, JsonGivesThemBack) {
  PendingFacts f;
  f.job_id = 17, f.uid = 1001, f.user = "alice", f.state = "PENDING", f.reason = "Resources";
  f.reason_detail = "UnavailableNodes:n1", f.held = true, f.expected_start = from_micros(5);
  f.request = {2,           3,         8,          4,      4000,           10,
               "gpu",       "gpu:2",   "matlab:1", {"n1"}, {"n2"},         "maint",
               "afterok:3", "physics", "normal",   60,     from_micros(6), from_micros(7),
               16,          "3-10",    2};
  f.partitions = {{"batch", "UP", 3600, 1, 4, 2, 6, "a", "b", "c", "d", "e"}};
  f.partition_names = "batch,other";
  for (const NodeHurdle hurdle :
       {NodeHurdle::idle, NodeHurdle::busy, NodeHurdle::planned, NodeHurdle::reserved, NodeHurdle::drained,
        NodeHurdle::down, NodeHurdle::unfit})
    f.nodes.push_back({hurdle, "n1", 1, "disk"});
  f.private_reservations = true;
  f.reservations = {{"maint", from_micros(8), from_micros(9), "n[1-2]", 2, true}};
  const PendingFacts back = PendingFacts::from_json(Json::parse(f.to_json().dump()).value());
  EXPECT_EQ(back.to_json().dump(), f.to_json().dump());
  EXPECT_TRUE(back == f);
}

}  // namespace
}  // namespace sickbay
