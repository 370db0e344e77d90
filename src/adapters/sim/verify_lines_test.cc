// SPDX-License-Identifier: Apache-2.0
// The simulator's lines, read by the reader of the real ones.
#include "adapters/sim/verify_lines.h"

#include <gtest/gtest.h>

#include "model/verify_report.h"

namespace sickbay::sim {
namespace {

TEST(VerifyLines, AreReadAsTheyAreMeant) {
  const struct {
    const char* what;
    VerifiedNode second;
    const char* err;
    VerifyResult first, result;
    std::size_t links;
  } rows[] = {
      {"healthy", {"n2"}, "", VerifyResult::ok, VerifyResult::ok, 0},
      {"killed",
       {.name = "n2", .killed = true},
       "srun: error: n2: task 1: Bus error\n",
       VerifyResult::ok,
       VerifyResult::failed,
       0},
      {"bad memory", {.name = "n2", .bad_memory = true}, "", VerifyResult::ok, VerifyResult::failed, 0},
      {"slow", {.name = "n2", .speed = 0.5}, "", VerifyResult::ok, VerifyResult::slow, 0},
  };
  for (const auto& row : rows) {
    const std::vector<VerifiedNode> nodes = {{"n1"}, row.second, {"n3"}};
    const VerifyReport report = parse_verify_report(verify_lines(nodes), row.err, {"n1", "n2", "n3"});
    EXPECT_EQ(report.node("n1")->result, row.first) << row.what << ": " << report.node("n1")->reason;
    EXPECT_EQ(report.node("n2")->result, row.result) << row.what << ": " << report.node("n2")->reason;
    EXPECT_EQ(report.links.size(), row.links) << row.what;
  }
}

TEST(VerifyLines, LossShowsOnTheLinksOfItsNode) {
  const std::vector<VerifiedNode> nodes = {{"n1"}, {.name = "n2", .loss = 0.05}, {"n3"}, {"n4"}};
  const VerifyReport report = parse_verify_report(verify_lines(nodes), "", {"n1", "n2", "n3", "n4"});
  EXPECT_EQ(report.node("n2")->result, VerifyResult::slow) << report.summary;
  for (const char* good : {"n1", "n3", "n4"})
    EXPECT_EQ(report.node(good)->result, VerifyResult::ok) << report.node(good)->reason;
}

TEST(VerifyLines, ACutBetweenTwoNodesIsALinkAndBothAreWell) {
  const auto cut = [](const std::string& name, const std::string& from) {
    return VerifiedNode{.name = name, .cut_from = {from}};
  };
  // Where the script runs on an end of it, and where it does not.
  for (const auto& [a, b] : {std::pair(0, 2), std::pair(1, 3)}) {
    std::vector<VerifiedNode> nodes = {{"n1"}, {"n2"}, {"n3"}, {"n4"}};
    const auto name = [&](int i) { return nodes[static_cast<std::size_t>(i)].name; };
    nodes[static_cast<std::size_t>(a)] = cut(name(a), name(b));
    nodes[static_cast<std::size_t>(b)] = cut(name(b), name(a));
    const VerifyReport report = parse_verify_report(verify_lines(nodes), "", {"n1", "n2", "n3", "n4"});
    for (const NodeVerification& node : report.nodes) EXPECT_EQ(node.result, VerifyResult::ok) << node.reason;
    ASSERT_EQ(report.links.size(), 1U);
    EXPECT_EQ(report.links[0].node + report.links[0].peer, name(a) + name(b));
  }
}

TEST(VerifyLines, ManyNodesHaveARing) {
  std::vector<VerifiedNode> nodes;
  std::vector<std::string> names;
  for (int i = 1; i <= 20; ++i) names.push_back(nodes.emplace_back().name = "n" + std::to_string(i));
  const VerifyReport report = parse_verify_report(verify_lines(nodes), "", names);
  EXPECT_EQ(report.overall, VerifyResult::ok) << report.summary;
}

}  // namespace
}  // namespace sickbay::sim
