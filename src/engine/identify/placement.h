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
/// acquitted first, never one that is down, convicted or named by a failed run's output.  Whether those
/// others suit the job's other wishes only Slurm knows: with each of its `refusals` more are given back, one
/// at a time at first, so that as few of the first run's nodes as possible are used again.  Pure. Source:
/// doc/design/identify.md, "where the cluster has too few other nodes".
Placement place_rerun(const Known& known, const Case& subject, int n, int refusals);
/// So often Slurm may say no; the last list gives all back but the suspects.
inline constexpr int kMostRefusals = 7;

/// Whether a node of the cluster may take a job that asks for `reservation` (empty: for none).
bool takes_job(const cluster::Node& node, const std::string& reservation);
/// The same for a node of a run, which is known to be in that reservation where it was in one at all.
bool serves(const cluster::View& view, const std::string& name, const std::string& reservation);

/// One usable node outside the case for a control run of V; "" where there is none.
std::string control_node(const Known& known, const Case& subject);

}  // namespace sickbay::identify
