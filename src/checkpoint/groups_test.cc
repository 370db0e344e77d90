// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace sickbay::checkpoint {
namespace {

// Nodes of domains of these sizes: a1 a2 ... b1 ...
std::vector<PlacedNode> nodes_of(const std::vector<int>& sizes) {
  std::vector<PlacedNode> nodes;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::string domain(1, static_cast<char>('a' + d));
    for (int i = 1; i <= sizes[d]; ++i) nodes.push_back({domain + std::to_string(i), domain});
  }
  return nodes;
}

TEST(Groups, ShareADomainOnlyWhereOneIsTooLarge) {
  // Every way to have up to three domains of up to six nodes.
  for (int a = 0; a <= 6; ++a)
    for (int b = 0; b <= 6; ++b)
      for (int c = 0; c <= 6; ++c)
        for (std::size_t most = 2; most <= 8; ++most) {
          const auto nodes = nodes_of({a, b, c});
          const Grouping grouping = choose_groups(nodes, most);
          std::set<std::string> placed;
          std::size_t least = 100, largest = 0;
          for (const auto& group : grouping.groups) {
            placed.insert(group.begin(), group.end());
            least = std::min(least, group.size());
            largest = std::max(largest, group.size());
          }
          ASSERT_EQ(placed.size(), nodes.size());
          if (nodes.empty()) continue;
          EXPECT_LE(largest - least, 1U);
          if (nodes.size() >= 2) {
            EXPECT_GE(least, 2U);
          }
          if (nodes.size() % 2 == 0 || most > 2) {
            EXPECT_LE(largest, std::max<std::size_t>(most, 3));
          }
          const auto widest = static_cast<std::size_t>(std::max({a, b, c}));
          EXPECT_EQ(grouping.sharing.empty(), widest <= grouping.groups.size()) << a << b << c << " " << most;
        }
}

TEST(Groups, AreTheSameForNodesInAnyOrder) {
  auto nodes = nodes_of({3, 2, 4});
  const auto groups = choose_groups(nodes, 4).groups;
  std::reverse(nodes.begin(), nodes.end());
  EXPECT_EQ(choose_groups(nodes, 4).groups, groups);
  EXPECT_EQ(groups.size(), 3U);
}

TEST(Partners, ShareADomainOnlyWhereOneHasMoreThanHalf) {
  for (int a = 0; a <= 6; ++a)
    for (int b = 0; b <= 6; ++b)
      for (int c = 0; c <= 6; ++c) {
        const auto nodes = nodes_of({a, b, c});
        const auto partners = choose_partners(nodes);
        if (nodes.size() < 2) {
          EXPECT_TRUE(partners.empty());
          continue;
        }
        std::map<std::string, int> kept;
        int sharing = 0;
        for (const Partner& one : partners) {
          EXPECT_NE(one.node, one.partner);
          ++kept[one.partner];
          sharing += one.sharing;
          EXPECT_EQ(one.sharing, one.node[0] == one.partner[0]);
        }
        EXPECT_EQ(kept.size(), nodes.size()) << "each keeps one";
        const int all = a + b + c, widest = std::max({a, b, c});
        EXPECT_EQ(sharing, std::max(0, 2 * widest - all)) << a << b << c;
      }
}

}  // namespace
}  // namespace sickbay::checkpoint
