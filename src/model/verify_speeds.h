// SPDX-License-Identifier: Apache-2.0
// What V measured on nodes, whoever asked for it: the fleet is the baseline, and each node's own past is.
//
// A file of recorded figures (verify.baseline) is for sites that make one.  Without it a node is held against
// the other nodes of its kind (median and MAD of their latest figures) and against what it measured itself
// before.  A run of V compares only the nodes of one job; here a node is compared although V ran on it alone.
// Source: doc/design/identify.md, "V on a busy machine".
#pragma once
#include <deque>
#include <map>
#include <string>

#include "base/json.h"

namespace sickbay {

/// Of one kind of machine: phase -> node -> its figures, oldest first.
using SpeedsOfKind = std::map<std::string, std::map<std::string, std::deque<double>>>;

struct Speeds {
  static constexpr int kFields = 1;  ///< base/state_archive.h
  std::map<std::string, SpeedsOfKind> kinds;

  /// What is wrong with the figures of a node ({"cpu": 41.2, "membw": 9800}), in a sentence; "" for nothing.
  /// A node is slow where it is below the others by six deviations and by the phase's share of their median
  /// (five others at least), or below its own past by as much (three figures at least).  Pure.
  std::string judge(const std::string& kind, const std::string& node, const Json& figures) const;
  /// Keeps them, the latest few of each node.  Those of a slow node are kept, too: a median can bear them.
  void keep(const std::string& kind, const std::string& node, const Json& figures);
  /// Everything that a replay must bring back, as text.
  std::string canonical_text() const;
};

}  // namespace sickbay
