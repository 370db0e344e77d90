// SPDX-License-Identifier: Apache-2.0
// The files of an import that tell of nodes, brought into a store beside its jobs.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "workload/import/node_log.h"

namespace sickbay::workload {

struct NodeFiles {
  std::string nodes;        ///< what 'scontrol show node -o' or 'sinfo -N -l' told; empty: none
  std::string events;       ///< what 'sacctmgr -P show event' told; empty: none
  std::string cluster;      ///< whose they are, where they do not say it themselves
  std::string nodes_since;  ///< since when the sizes hold; empty: see NodesSince
  bool empty() const { return nodes.empty() && events.empty(); }
};

/// Hears of each file that was brought in ("nodes", "node events").
using ToldOfNodes = std::function<void(const char* what, const NodeImport& done)>;

/// Imports the files that are named, at the time `now` (UTC seconds); times without a zone are of
/// `time_zone`. What names no cluster, and has none told, is of the one of the store. Errors: not_found,
/// denied, usage (a time that is none), bad_input with the file and the line, or where the store has several
/// clusters and nobody says whose nodes they are; what the store has.
Status import_node_files(Store& store, const NodeFiles& files, const std::string& time_zone, std::int64_t now,
                         const ToldOfNodes& told);

}  // namespace sickbay::workload
