// SPDX-License-Identifier: Apache-2.0
// The files of an import that tell of nodes, brought into a store beside its jobs.
#pragma once
#include <functional>
#include <string>

#include "base/result.h"
#include "workload/import/node_log.h"

namespace sickbay::workload {

struct NodeFiles {
  std::string nodes;   ///< what 'scontrol show node -o' or 'sinfo -N -l' told; empty: none
  std::string events;  ///< what 'sacctmgr -P show event' told; empty: none
  bool empty() const { return nodes.empty() && events.empty(); }
};

/// Hears of each file that was brought in ("nodes", "node events").
using ToldOfNodes = std::function<void(const char* what, const NodeImport& done)>;

/// Imports the files that are named; times of events without a zone are of `time_zone`.
/// Errors: not_found, denied, bad_input with the file and the line; what the store has.
Status import_node_files(Store& store, const NodeFiles& files, const std::string& time_zone,
                         const ToldOfNodes& told);

}  // namespace sickbay::workload
