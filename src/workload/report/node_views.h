// SPDX-License-Identifier: Apache-2.0
// What reports see of nodes, as SQL: what each had and when, when it did no work, and what that cost.
//
// A node is (cluster, node): two clusters may have an n1 each.  Nodes of clusters of which the store has no
// job are left out (`sacctmgr show event` tells of all clusters of an accounting database), and so are those
// that the filter leaves out.  A view holds what lies in the period, in the zone of the report.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/store/node_clusters.h"

namespace sickbay::workload {

/// Macros cluster_of(c) (of what names none: the one that it can be) and at_cluster(name, c) ("cpu@c" where
/// the jobs are of several clusters, else the name: of partitions, arrays and jobs, which each cluster has
/// its own of).  `wanted`: the clusters of the filter; empty: all.  Needs the macro local_time.
std::string cluster_macros_sql(const Clusters& clusters, const std::vector<std::string>& wanted);

/// The views node_sizes, node_down and node_lost (doc/formats/report.md).  Needs the macros and `period`.
/// `cut`: the period was asked for, so that an event which began before it did not begin here.
std::string node_views_sql(const Clusters& clusters, const std::vector<std::string>& wanted, bool cut);

}  // namespace sickbay::workload
