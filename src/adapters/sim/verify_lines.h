// SPDX-License-Identifier: Apache-2.0
// The lines that sickbay-verify prints on nodes in a given condition.
//
// One JSON object per rank and phase, as verify/report.cc writes them; one rank per node.
#pragma once
#include <string>
#include <vector>

namespace sickbay::sim {

struct VerifiedNode {
  std::string name{};
  bool killed = false;      ///< its rank dies in its first phase
  bool bad_memory = false;  ///< patterns come back wrong
  double speed = 1.0;       ///< under 1: its processor time is withheld
  double loss = 0.0;        ///< share of packets lost
  bool full = false;        ///< its /tmp has no room
  bool bad_disk = false;    ///< its disk gives back something else
};

/// What both parts ("node", then "net") print together.  Up to 16 nodes all pairs are tried, over that a
/// ring.
std::string verify_lines(const std::vector<VerifiedNode>& nodes);

}  // namespace sickbay::sim
