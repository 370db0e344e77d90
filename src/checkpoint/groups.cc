// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/result.h"

namespace sickbay::checkpoint {
namespace {

// The nodes of each domain one after the other, the largest domain first.  Gives the size of that.
std::size_t sort_by_domain(std::vector<PlacedNode>& nodes) {
  std::map<std::string, std::size_t> count;
  std::size_t most = 0;
  for (const PlacedNode& node : nodes) most = std::max(most, ++count[node.domain]);
  // By size, then by names: the same order on every node, for each of them chooses by itself.
  std::sort(nodes.begin(), nodes.end(), [&](const PlacedNode& a, const PlacedNode& b) {
    const std::size_t of_a = count[a.domain], of_b = count[b.domain];
    return std::tie(of_b, a.domain, a.node) < std::tie(of_a, b.domain, b.node);
  });
  return most;
}

}  // namespace

Grouping choose_groups(std::vector<PlacedNode> nodes, std::size_t most) {
  SB_CHECK(most >= 2, "a group has two members");
  sort_by_domain(nodes);
  // As many groups as keep them at `most`, but never one of a single node: it would be protected by nobody.
  const std::size_t count =
      std::max<std::size_t>(1, std::min((nodes.size() + most - 1) / most, nodes.size() / 2));
  // Dealt out in turn: neighbours in this order, who share a domain, come to different groups.
  std::vector<std::vector<const PlacedNode*>> dealt(nodes.empty() ? 0 : count);
  for (std::size_t i = 0; i < nodes.size(); ++i) dealt[i % count].push_back(&nodes[i]);
  Grouping grouping;
  for (const auto& group : dealt) {
    auto& names = grouping.groups.emplace_back();
    for (std::size_t i = 0; i < group.size(); ++i) {
      names.push_back(group[i]->node);
      for (std::size_t k = 0; k < i; ++k)
        if (group[k]->domain == group[i]->domain)
          grouping.sharing.emplace_back(group[k]->node, group[i]->node);
    }
  }
  return grouping;
}

std::vector<Partner> choose_partners(std::vector<PlacedNode> nodes) {
  // Shifted by the size of the largest domain, no domain comes to lie on itself, or as little as can be.
  const std::size_t most = sort_by_domain(nodes), shift = most < nodes.size() ? most : 1;
  std::vector<Partner> partners;
  if (nodes.size() < 2) return partners;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const PlacedNode& other = nodes[(i + shift) % nodes.size()];
    partners.push_back({nodes[i].node, other.node, nodes[i].domain == other.domain});
  }
  return partners;
}

}  // namespace sickbay::checkpoint
