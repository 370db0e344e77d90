// SPDX-License-Identifier: Apache-2.0
#include "engine/recover/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace sickbay::recover {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::vector<std::string> names(const RestartTree& tree, const std::vector<std::size_t>& cells) {
  std::vector<std::string> list;
  for (const std::size_t i : cells) list.push_back(tree.cell(i).name);
  return list;
}
std::vector<std::string> path_of(const RestartTree& tree, std::string_view cell) {
  return names(tree, tree.path(tree.find(cell).value()));
}
std::set<std::string> group_of(const RestartTree& tree, std::size_t cell) {
  const auto list = names(tree, tree.subtree(cell));
  return {list.begin(), list.end()};
}

Component component(std::string name, std::vector<std::string> needs = {}, double takes = 10) {
  return {std::move(name), std::move(needs), Seconds(takes)};
}

// The paper's: two jobs, one of them in two process groups; nodes 3 and 4 depend on each other.
TreeParts cluster_of_eight() {
  TreeParts parts;
  for (int i = 1; i <= 8; ++i)
    parts.nodes.push_back({.name = "n" + std::to_string(i),
                           .components = {component("munged"), component("slurmd", {"munged"}, 20)},
                           .takes = Seconds(100 + i)});
  parts.jobs = {
      {.job_id = 17, .nodes = {"n1", "n2", "n3", "n4", "n5"}, .domains = {{"n1", "n2"}, {"n3", "n4"}}},
      {.job_id = 18, .nodes = {"n6", "n7"}}};
  parts.dependent = {{"n3", "n4"}};
  return parts;
}

TEST(RestartTree, ThePapersFigure1HasFiveRestartGroups) {
  const RestartTree tree({.nodes = {{"abc", {component("A"), component("B"), component("C", {"B"})}}}});
  const std::size_t all = tree.of_node("abc").value();
  std::set<std::set<std::string>> groups;
  for (const std::size_t cell : tree.subtree(all)) groups.insert(group_of(tree, cell));
  EXPECT_EQ(groups, (std::set<std::set<std::string>>{
                        {"abc/A"},
                        {"abc/B"},
                        {"abc/C"},
                        {"abc/B+C", "abc/B", "abc/C"},
                        {"abc", "abc/A", "abc/B+C", "abc/B", "abc/C"},
                    }));
  EXPECT_THAT(path_of(tree, "abc/C"), ElementsAre("abc/C", "abc/B+C", "abc", "cluster"));
  EXPECT_THAT(path_of(tree, "abc/A"), ElementsAre("abc/A", "abc", "cluster"));
  EXPECT_THAT(tree.faults(), IsEmpty());
}

TEST(RestartTree, LevelsFromAComponentToTheCluster) {
  const RestartTree tree(cluster_of_eight());
  EXPECT_THAT(path_of(tree, "n1/slurmd"),
              ElementsAre("n1/slurmd", "n1/munged+slurmd", "n1", "job:17/d1", "job:17", "cluster"));
  EXPECT_THAT(path_of(tree, "n5/munged"),
              ElementsAre("n5/munged", "n5/munged+slurmd", "n5", "job:17", "cluster"))
      << "a node of no process group hangs under the job's";
  EXPECT_THAT(path_of(tree, "n6"), ElementsAre("n6", "job:18", "cluster"));
  EXPECT_THAT(path_of(tree, "n8"), ElementsAre("n8", "cluster")) << "no job has it";
  std::vector<Level> levels;
  for (const std::size_t i : tree.path(tree.of_component("n1", "slurmd").value()))
    levels.push_back(tree.cell(i).level);
  EXPECT_THAT(levels, ElementsAre(Level::component, Level::component, Level::node, Level::domain,
                                  Level::group, Level::cluster));
  EXPECT_EQ(tree.nodes_of(RestartTree::kRoot).size(), 8u);
  EXPECT_THAT(tree.nodes_of(tree.find("job:17/d2").value()), ElementsAre("n3", "n4"));
  EXPECT_THAT(tree.nodes_of(tree.find("n1/slurmd").value()), ElementsAre("n1"));
  EXPECT_EQ(tree.cell(tree.find("job:17").value()).job_id, 17u);
  EXPECT_FALSE(tree.of_component("n1", "lustre"));
  EXPECT_FALSE(tree.of_node("n9"));
}

TEST(RestartTree, NodesThatDependOnEachOtherAreOneCellRestartedInParallel) {
  const RestartTree tree(cluster_of_eight());
  EXPECT_EQ(tree.of_node("n3"), tree.of_node("n4"));
  const Cell& both = tree.cell(tree.of_node("n3").value());
  EXPECT_EQ(both.name, "n[3-4]");
  EXPECT_EQ(both.level, Level::node);
  EXPECT_EQ(both.takes, Seconds(104)) << "the slower of the two, not their sum";
  EXPECT_THAT(path_of(tree, "n4/slurmd"),
              ElementsAre("n4/slurmd", "n4/munged+slurmd", "n[3-4]", "job:17/d2", "job:17", "cluster"));
}

TEST(RestartTree, DependenceIsJoinedAcrossWhatWasSaid) {
  const RestartTree tree({.nodes = {{"n1", {}}, {"n2", {}}, {"n3", {}}, {"n4", {}}},
                          .dependent = {{"n1", "n2"}, {"n3", "n2"}, {"n4", "n9"}}});
  EXPECT_EQ(tree.cell(tree.of_node("n3").value()).name, "n[1-3]");
  EXPECT_EQ(tree.cell(tree.of_node("n4").value()).name, "n4");
  EXPECT_THAT(tree.faults(), ElementsAre(HasSubstr("n9")));
}

TEST(RestartTree, DependenceAcrossProcessGroupsIsTheJobsMatterAndAcrossJobsNobodys) {
  TreeParts parts = cluster_of_eight();
  parts.dependent = {{"n2", "n3"}, {"n5", "n6"}, {"n7", "n8"}};
  const RestartTree tree(parts);
  EXPECT_THAT(path_of(tree, "n[2-3]"), ElementsAre("n[2-3]", "job:17", "cluster"));
  EXPECT_THAT(path_of(tree, "n[5-6]"), ElementsAre("n[5-6]", "cluster"));
  const Cell& of_two_jobs = tree.cell(tree.of_node("n5").value());
  EXPECT_TRUE(of_two_jobs.shared());
  EXPECT_THAT(of_two_jobs.owners, ElementsAre(17u, 18u));
  const Cell& half_idle = tree.cell(tree.of_node("n8").value());
  EXPECT_THAT(half_idle.owners, ElementsAre(18u)) << "its restart takes n7 from job 18";
  EXPECT_EQ(tree.cell(half_idle.parent).level, Level::cluster);
  EXPECT_THAT(tree.faults(), ElementsAre(HasSubstr("n[5-6] depend"), HasSubstr("n[7-8] depend")));
}

TEST(RestartTree, ANodeOfTwoJobsIsInNoGroupAndIsRestartedWhenBothAllowIt) {
  TreeParts parts = cluster_of_eight();
  parts.jobs[1].nodes.push_back("n1");
  const RestartTree tree(parts);
  EXPECT_THAT(path_of(tree, "n1/munged"), ElementsAre("n1/munged", "n1/munged+slurmd", "n1", "cluster"));
  EXPECT_THAT(tree.faults(), ElementsAre("n1: jobs 17, 18 have a part of it, so it is in no job's group"));
  EXPECT_THAT(tree.nodes_of(tree.find("job:17").value()), ElementsAre("n2", "n3", "n4", "n5"));
  for (const std::string_view name : {"n1", "n1/slurmd"}) {
    const Cell& cell = tree.cell(tree.find(name).value());
    EXPECT_TRUE(cell.shared());
    EXPECT_THAT(still_to_allow(cell, {}), ElementsAre(17u, 18u));
    EXPECT_THAT(still_to_allow(cell, std::vector<JobId>{18}), ElementsAre(17u));
    EXPECT_THAT(still_to_allow(cell, std::vector<JobId>{18, 17, 4}), IsEmpty());
  }
  const Cell& own = tree.cell(tree.find("n2").value());
  EXPECT_FALSE(own.shared());
  EXPECT_THAT(still_to_allow(own, {}), IsEmpty());
}

TEST(RestartTree, GroupsAreGoneWithTheirJob) {
  TreeParts parts = cluster_of_eight();
  parts.jobs.clear();
  const RestartTree tree(parts);
  EXPECT_FALSE(tree.find("job:17"));
  EXPECT_THAT(path_of(tree, "n1"), ElementsAre("n1", "cluster"));
}

TEST(RestartTree, ProcessGroupsThatDoNotFitAreTold) {
  const RestartTree tree(
      {.nodes = {},
       .jobs = {{.job_id = 5, .nodes = {"n1", "n2"}, .domains = {{"n1", "n3"}, {"n1", "n2"}}}},
       .dependent = {}});
  EXPECT_THAT(tree.faults(), UnorderedElementsAre(HasSubstr("n3 is in its process group 1, but not its node"),
                                                  HasSubstr("n1 is in two of its process groups")));
  EXPECT_THAT(path_of(tree, "n1"), ElementsAre("n1", "job:5/d1", "job:5", "cluster"));
}

TEST(RestartTree, ComponentsAreRestartedInTheOrderOfTheirNeeds) {
  const RestartTree tree(
      {.nodes = {{"n1",
                  {component("a_mount", {"rdma", "net"}, 5), component("rdma", {"net"}, 30),
                   component("net", {}, 8), component("sshd", {}, 2), component("slurmd", {"gone"}, 4)}}}});
  const Cell& joined = tree.cell(tree.cell(tree.of_component("n1", "net").value()).parent);
  EXPECT_THAT(joined.components, ElementsAre("net", "rdma", "a_mount"));
  EXPECT_EQ(joined.takes, Seconds(43)) << "each waits for what it needs";
  EXPECT_EQ(joined.kind(), "component net+rdma+a_mount");
  EXPECT_EQ(tree.cell(tree.of_component("n1", "sshd").value()).kind(), "component sshd");
  EXPECT_EQ(tree.cell(tree.of_node("n1").value()).kind(), "node");
  EXPECT_THAT(tree.faults(), ElementsAre("n1: slurmd needs gone, which the node does not have"));
}

TEST(RestartTree, IndependentOnesOfACellAreRestartedAtOneTimeAndACircleHasAnEnd) {
  const RestartTree fan(
      {.nodes = {{"n1", {component("x", {"net"}, 9), component("y", {"net"}, 7), component("net")}}}});
  EXPECT_EQ(fan.cell(fan.cell(fan.of_component("n1", "x").value()).parent).takes, Seconds(19));
  const RestartTree circle(
      {.nodes = {{"n1", {component("b", {"c"}), component("c", {"b"}), component("d", {"d"})}}}});
  EXPECT_THAT(circle.cell(circle.cell(circle.of_component("n1", "c").value()).parent).components,
              ElementsAre("b", "c"));
  EXPECT_THAT(path_of(circle, "n1/d"), ElementsAre("n1/d", "n1", "cluster")) << "to need itself says nothing";
}

TEST(RestartTree, AnEmptyOneIsTheCluster) {
  const RestartTree tree({});
  EXPECT_EQ(tree.cells().size(), 1u);
  EXPECT_THAT(tree.path(RestartTree::kRoot), ElementsAre(RestartTree::kRoot));
}

TEST(RestartTree, LargerCellsTakeWhatTheirSlowestPartTakes) {
  TreeParts parts = cluster_of_eight();
  parts.jobs[1].takes = Seconds(900);
  const RestartTree tree(parts);
  EXPECT_EQ(tree.cell(tree.find("job:17/d1").value()).takes, Seconds(102));
  EXPECT_EQ(tree.cell(tree.find("job:17").value()).takes, Seconds(105));
  EXPECT_EQ(tree.cell(tree.find("job:18").value()).takes, Seconds(900)) << "where it is said that holds";
  EXPECT_EQ(tree.cell(RestartTree::kRoot).takes, Seconds(900));
}

TEST(RestartTree, EveryCellIsInTheSubtreeOfEachCellOnItsPath) {
  const RestartTree tree(cluster_of_eight());
  for (std::size_t i = 0; i < tree.cells().size(); ++i)
    for (const std::size_t above : tree.path(i)) {
      const auto below = tree.subtree(above);
      EXPECT_EQ(std::ranges::count(below, i), 1) << tree.cell(i).name << " under " << tree.cell(above).name;
    }
  EXPECT_EQ(tree.subtree(RestartTree::kRoot).size(), tree.cells().size());
}

TEST(Levels, WordsAndBack) {
  for (std::size_t i = 0; i < kLevels; ++i) {
    const auto level = static_cast<Level>(i);
    EXPECT_EQ(level_from(to_string(level)), level);
  }
  EXPECT_FALSE(level_from("rack"));
}

}  // namespace
}  // namespace sickbay::recover
