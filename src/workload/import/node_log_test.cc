// SPDX-License-Identifier: Apache-2.0
#include "workload/import/node_log.h"

#include <gtest/gtest.h>

#include "workload/import/import_test_parts.h"

namespace sickbay::workload {
namespace {

constexpr std::string_view kEvents =
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User|TRES\n"
    "c1||2021-05-01T00:00:00|Unknown||Cluster Registered TRES||cpu=64,mem=1G\n"
    "c1|n1|2021-05-02T10:00:00|2021-05-02T12:00:00|DOWN*|Not responding|slurm(0)|cpu=16,mem=64000M\n"
    "c1|n2|2021-05-03T10:00:00|Unknown|DRAIN|disk|root(0)|\n";

TEST(NodeEvents, ReadAsSacctmgrPrintsThem) {
  auto events = parse_node_events(kEvents, *TimeZone::make("UTC"));
  ASSERT_TRUE(events) << events.error().line();
  ASSERT_EQ(events->size(), 2U) << "the cluster's own event is none of a node";
  EXPECT_EQ(events->at(0).cluster, "c1");
  EXPECT_EQ(events->at(0).node, "n1");
  EXPECT_EQ(events->at(0).state, "DOWN*");
  EXPECT_EQ(events->at(0).begins, 1619949600);
  EXPECT_EQ(events->at(0).ends, 1619956800);
  EXPECT_EQ(events->at(0).cpus, 16);
  EXPECT_FALSE(events->at(1).ends);
  EXPECT_FALSE(events->at(1).cpus);
  EXPECT_EQ(parse_node_events(kEvents, *TimeZone::make("+02:00"))->at(0).begins, 1619949600 - 7200);
}

TEST(NodeEvents, WhatIsNoneIsAnErrorWithItsLine) {
  EXPECT_FALSE(parse_node_events("", *TimeZone::make("UTC")));
  EXPECT_FALSE(parse_node_events("NodeName|State\nn1|DOWN\n", *TimeZone::make("UTC")));
  auto bad = parse_node_events("NodeName|TimeStart|State\nn1|yesterday|DOWN\n", *TimeZone::make("UTC"));
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().line().find("line 2: 'yesterday'"), std::string::npos) << bad.error().line();
}

TEST(NodeEvents, ComeInOnceAndEndLater) {
  Store store = open_store();
  auto events = *parse_node_events(kEvents, *TimeZone::make("UTC"));
  auto first = import_node_events(store, events);
  ASSERT_TRUE(first) << first.error().line();
  EXPECT_EQ(first->added, 2U);
  const auto before = rows_of(store, "SELECT * FROM node_events ORDER BY ALL");
  auto second = import_node_events(store, events);
  ASSERT_TRUE(second) << second.error().line();
  EXPECT_EQ(second->added + second->changed, 0U);
  EXPECT_EQ(rows_of(store, "SELECT * FROM node_events ORDER BY ALL"), before);
  events[1].ends = events[1].begins + 60;
  auto third = import_node_events(store, events);
  ASSERT_TRUE(third);
  EXPECT_EQ(third->added, 0U);
  EXPECT_EQ(third->changed, 1U);
  EXPECT_EQ(
      rows_of(store, "SELECT (epoch(ends) - epoch(begins))::BIGINT AS s FROM node_events WHERE node = 'n2'"),
      std::vector<std::string>{"s=60 "});
}

TEST(Nodes, FromScontrol) {
  auto nodes = parse_nodes(
      "NodeName=n1 Arch=x86_64 CPUTot=16 OS=Linux 6.1 #1 SMP RealMemory=64000 Gres=gpu:a100:4(S:0,1),shard:8 "
      "State=IDLE Partitions=long,cpu CfgTRES=cpu=16,mem=64000M\n"
      "NodeName=n2 CPUTot=8 RealMemory=1000 Gres=(null) Partitions=cpu CfgTRES=cpu=8,gres/gpu=2\n");
  ASSERT_TRUE(nodes) << nodes.error().line();
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->at(0).cpus, 16);
  EXPECT_EQ(nodes->at(0).memory, 64000LL * 1024 * 1024);
  EXPECT_EQ(nodes->at(0).gpus, 4);
  EXPECT_EQ(nodes->at(0).partitions, "cpu,long");
  EXPECT_EQ(nodes->at(1).gpus, 2);
}

TEST(Nodes, FromSinfo) {
  auto nodes = parse_nodes(
      "Sat Nov 21 12:00:00 2026\n"
      "NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON\n"
      "n1             1      cpu*        idle 16      2:8:1  64000        0      1   (null) none\n"
      "n1             1      long        idle 16      2:8:1  64000        0      1   (null) none\n");
  ASSERT_TRUE(nodes) << nodes.error().line();
  ASSERT_EQ(nodes->size(), 1U);
  EXPECT_EQ(nodes->at(0).cpus, 16);
  EXPECT_EQ(nodes->at(0).partitions, "cpu,long");
  EXPECT_FALSE(parse_nodes("hello\nworld\n"));
  EXPECT_FALSE(parse_nodes(""));
}

TEST(Nodes, ComeInOnceAndChange) {
  Store store = open_store();
  auto nodes = *parse_nodes("NodeName=n1 CPUTot=16\nNodeName=n2 CPUTot=8\n");
  EXPECT_EQ(import_nodes(store, nodes, {1000})->added, 2U);
  const auto again = import_nodes(store, nodes, {2000});
  EXPECT_EQ(again->added + again->changed, 0U);
  nodes[0].cpus = 32;
  EXPECT_EQ(import_nodes(store, nodes, {3000})->changed, 1U);
  const char* const all =
      "SELECT node AS n, cpus AS c, epoch(valid_from)::BIGINT AS s FROM nodes ORDER BY ALL NULLS FIRST";
  const std::vector<std::string> grown = {"n=n1 c=16 ", "n=n1 c=32 s=3000 ", "n=n2 c=8 "};
  EXPECT_EQ(rows_of(store, all), grown);
  EXPECT_EQ(import_nodes(store, nodes, {3000})->changed, 0U);
  nodes[0].cpus = 64;  // the same date again: what was told of it was wrong
  EXPECT_EQ(import_nodes(store, nodes, {3000})->changed, 1U);
  EXPECT_EQ(rows_of(store, all)[1], "n=n1 c=64 s=3000 ");
}

// Another cluster's n1 is another node, and what a list says of a date is said of that date.
TEST(Nodes, AreOfAClusterAndOfADate) {
  Store store = open_store();
  auto nodes = *parse_nodes("NodeName=n1 CPUTot=16\n");
  nodes[0].cluster = "a";
  EXPECT_EQ(import_nodes(store, nodes, {5000, true})->added, 1U);
  nodes[0].cluster = "b";
  EXPECT_EQ(import_nodes(store, nodes, {5000})->added, 1U);
  nodes[0].cluster = "a";
  nodes[0].cpus = 4;
  EXPECT_EQ(import_nodes(store, nodes, {1000, true})->changed, 1U) << "an older list, later";
  nodes[0].node = "n2";
  EXPECT_EQ(import_nodes(store, nodes, {7000})->added, 1U) << "a node that came to a cluster which is known";
  EXPECT_EQ(rows_of(store,
                    "SELECT cluster AS k, node AS n, cpus AS c, epoch(valid_from)::BIGINT AS s FROM nodes "
                    "ORDER BY ALL NULLS FIRST"),
            (std::vector<std::string>{"k=a n=n1 c=4 s=1000 ", "k=a n=n1 c=16 s=5000 ", "k=a n=n2 c=4 s=7000 ",
                                      "k=b n=n1 c=16 "}));
}

TEST(Nodes, SinfoNamesTheClusters) {
  auto nodes = parse_nodes(
      "CLUSTER: a\nSat Nov 21 12:00:00 2026\nNODELIST NODES PARTITION STATE CPUS\nn1 1 cpu idle 16\n\n"
      "CLUSTER: b\nSat Nov 21 12:00:00 2026\nNODELIST NODES PARTITION STATE CPUS\nn1 1 cpu idle 8\n");
  ASSERT_TRUE(nodes) << nodes.error().line();
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ(nodes->at(0).cluster + nodes->at(1).cluster, "ab");
  EXPECT_EQ(*nodes->at(0).cpus + *nodes->at(1).cpus, 24);
  nodes = parse_nodes("CLUSTER NODELIST CPUS\nc n1 16\n");
  ASSERT_TRUE(nodes) << nodes.error().line();
  EXPECT_EQ(nodes->at(0).cluster, "c");
}

}  // namespace
}  // namespace sickbay::workload
