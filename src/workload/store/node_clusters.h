// SPDX-License-Identifier: Apache-2.0
// Whose nodes these are: the clusters that a store speaks of, and the one of what names none.
//
// Many logs name no cluster: sacct does where it is asked, `scontrol show node` never.  Where a store can
// only mean one, what names none is of that one.  A store of several keeps them apart: jobs without a name
// are then a cluster of their own, and nodes without one are of none that has a name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/store/store.h"

namespace sickbay::workload {

struct Clusters {
  std::vector<std::string> of_jobs, of_nodes;        ///< their names, sorted
  bool unnamed_jobs = false, unnamed_nodes = false;  ///< some name none

  /// The cluster of what names none, where there is only one that it can be.
  std::optional<std::string> only() const;
  /// Whether nodes without a name could be of more than one.
  bool ambiguous() const;
};

/// Reads the jobs (one column), the nodes and their events.
Result<Clusters> clusters_of(duck::Connection& connection);

/// Nodes and events that name no cluster get the one of the jobs, if there is but one by now: a second
/// cluster that is imported later finds them named.  After each import of jobs.
Status name_unnamed_nodes(Store& store);

}  // namespace sickbay::workload
