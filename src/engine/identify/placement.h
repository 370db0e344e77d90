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
  std::vector<std::string> include;  ///< it must run on these; of further runs (further.h)
};

/// The exclusion list of program run `n` (>= 2): the nodes of all runs before it and every node on which V
/// failed last.  Where too few others are usable, nodes of earlier runs are given back, those that V
/// acquitted first, never one that is down, convicted or named by a failed run's output.  Whether those
/// others suit the job's other wishes only Slurm knows: with each of its `refusals` more are given back, one
/// at a time at first, so that as few of the first run's nodes as possible are used again.  Pure. Source:
/// doc/design/identify.md, "where the cluster has too few other nodes".
/// A further run has chosen nodes of the first run, and none of its others (further.h).
Placement place_rerun(const Known& known, const Case& subject, int n, int refusals);
/// Usable nodes of the first run's partition that it did not run on and that V has not convicted.
std::vector<std::string> others_for(const Known& known, const Case& subject);
/// So often Slurm may say no; the last list gives all back but the suspects.
inline constexpr int kMostRefusals = 7;

/// Whether a node of the cluster may take a job that asks for `reservation` (empty: for none).
bool takes_job(const cluster::Node& node, const std::string& reservation);
/// The same for a node of a run, which is known to be in that reservation where it was in one at all.
bool serves(const cluster::View& view, const std::string& name, const std::string& reservation);

/// Up to `most` usable nodes outside the case, without a failure of V since its last pass: for a control run,
/// or as third nodes that say which end of a bad link is at fault.
std::vector<std::string> nodes_outside(const Known& known, const Case& subject, std::size_t most);
/// One of them; "" where there is none.
std::string control_node(const Known& known, const Case& subject);

}  // namespace sickbay::identify
