// SPDX-License-Identifier: Apache-2.0
// Who keeps what for whom: groups of nodes and partners that do not fail together, as far as that is
// possible.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sickbay::checkpoint {

/// A node and what it fails together with: its switch, chassis, power supply.
struct PlacedNode {
  std::string node, domain;
};

struct Grouping {
  std::vector<std::vector<std::string>> groups;
  /// Members of one group that share a domain: its loss cannot be made good.
  std::vector<std::pair<std::string, std::string>> sharing;
};

/// Groups of at most `most` (two or more) members, of sizes that differ by one at most; where fewer than two
/// would be left for one, groups are larger.  Members of a group share a domain only where a domain has more
/// nodes than there are groups.  A single node is a group of its own and is protected by nobody.  The same
/// for the same nodes in any order.
Grouping choose_groups(std::vector<PlacedNode> nodes, std::size_t most);

struct Partner {
  std::string node, partner;
  bool sharing = false;  ///< they share a domain
};
/// For each node the one that keeps a copy of what it has; each keeps one.  They share a domain only where
/// one has more than half of the nodes.  Of a single node: none.
std::vector<Partner> choose_partners(std::vector<PlacedNode> nodes);

}  // namespace sickbay::checkpoint
