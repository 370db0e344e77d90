// SPDX-License-Identifier: Apache-2.0
// What Slurm says of nodes, for R_avail: the events of `sacctmgr show event -P`, the nodes of
// `scontrol show node -o` or `sinfo -N`.
//
// A node is (cluster, node).  What it has is kept with the date since when, so that a machine that grew is
// not taken for one that was always so large; the first list that tells of a cluster holds for all time
// before it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/import/bring_in.h"
#include "workload/job/values.h"
#include "workload/store/store.h"

namespace sickbay::workload {

struct NodeEvent {
  std::string cluster;  ///< empty: the text names none
  std::string node, state, reason;
  std::int64_t begins = 0;           ///< UTC seconds
  std::optional<std::int64_t> ends;  ///< nothing: it lasts
  std::optional<std::int64_t> cpus;
};

struct NodeFacts {
  std::string cluster;  ///< empty: the text names none
  std::string node;
  std::optional<std::int64_t> cpus, memory /* bytes */, gpus;
  std::string partitions;  ///< by commas, sorted
};

/// Text of `sacctmgr show event -P`, with any columns that hold NodeName, TimeStart and State; events of the
/// cluster itself are left out.  Errors: bad_input with the line.
Result<std::vector<NodeEvent>> parse_node_events(std::string_view text, const TimeZone& zone);
/// Text of `scontrol show node -o`, or of `sinfo -N` with its header.  Errors: bad_input with the line.
/// "CLUSTER: name" (of `sinfo -M`) and a column CLUSTER say whose the nodes below are.
Result<std::vector<NodeFacts>> parse_nodes(std::string_view text);

/// Since when a list of nodes holds (UTC seconds).
struct NodesSince {
  std::int64_t at = 0;
  bool said = false;  ///< else it is the time of the import, and the first list of a cluster has no date
};

/// Brings them into node_events and nodes, each once; an event that has ended since replaces its beginning,
/// and a node that is now another gets a further row.  (One that a later list lacks stays as it was.)
Result<NodeImport> import_node_events(Store& store, const std::vector<NodeEvent>& events);
Result<NodeImport> import_nodes(Store& store, const std::vector<NodeFacts>& nodes, const NodesSince& since);

}  // namespace sickbay::workload
