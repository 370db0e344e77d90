// SPDX-License-Identifier: Apache-2.0
// The lines that sickbay-verify prints on nodes in a given condition.
//
// One JSON object per rank and phase, as verify/report.cc writes them; one rank per node.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace sickbay::sim {

struct VerifiedNode {
  std::string name{};
  bool killed = false;               ///< its rank dies in its first phase
  bool bad_memory = false;           ///< patterns come back wrong
  double speed = 1.0;                ///< under 1: its processor time is withheld
  double loss = 0.0;                 ///< share of packets lost
  bool full = false;                 ///< its /tmp has no room
  bool bad_disk = false;             ///< its disk gives back something else
  std::set<std::string> cut_from{};  ///< nodes between which and it no packet arrives; both name each other
};

/// What all parts ("node", then "net") print together, the script running on the first node.  Up to 16 nodes
/// all pairs are tried, over that a ring.  A node that the script does not reach is tried from two others.
/// Where nodes do not reach each other there is "reach" in place of "net".
std::string verify_lines(const std::vector<VerifiedNode>& nodes);

}  // namespace sickbay::sim
