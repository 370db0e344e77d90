// SPDX-License-Identifier: Apache-2.0
// Where a re-run goes: which nodes it must keep away from.
#pragma once
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

struct Placement {
  std::vector<std::string> exclude;  ///< sorted
  std::vector<std::string> reused;   ///< nodes of earlier runs that it may use again, for want of others
};

/// The exclusion list of program run `n` (>= 2): the nodes of all runs before it and every node on which V
/// failed last.  Where too few others are usable, nodes of earlier runs are given back, those that V
/// acquitted first, never one that is down, convicted or named by a failed run's output.  `relaxed` (after
/// Slurm refused the order) keeps only the nodes under suspicion away.  Pure.
/// Source: doc/design/identify.md, "where the cluster has too few other nodes".
Placement place_rerun(const Known& known, const Case& subject, int n, bool relaxed);

/// One usable node outside the case for a control run of V; "" where there is none.
std::string control_node(const Known& known, const Case& subject);

}  // namespace sickbay::identify
