// SPDX-License-Identifier: Apache-2.0
// Rows that stand beside the jobs of a store (nodes, their events, what failures cost), brought in each once.
//
// They go through a source of DuckDB, as jobs do: rows inserted one by one keep a block each until the
// transaction ends, and 100,000 of them do not fit into an import's memory.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/store/store.h"

namespace sickbay::workload {

/// What an import beside the jobs came to.
struct NodeImport {
  std::uint64_t seen = 0, added = 0, changed = 0;
};

/// How rows get into a table.
struct BringIn {
  std::string table;
  std::string added, changed;  ///< SELECTs that count what `merge` will do, before it does
  std::string merge;           ///< from the temporary table incoming_rows, which is like `table`, into it
};

/// All or nothing.  Each row has a value for each column of the table, in its order; times in microseconds.
/// Errors: of DuckDB (storage_full, busy, ...).
Result<NodeImport> bring_in(Store& store, const BringIn& how, std::vector<std::vector<duck::Value>> rows);

}  // namespace sickbay::workload
