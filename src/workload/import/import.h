// SPDX-License-Identifier: Apache-2.0
// The import: logs -> records -> jobs -> labels -> store, on all cores and in bounded memory.
//
// Pass 1 finds the records (16 bytes of index each run of a job); pass 2 is a table that DuckDB reads from
// its own threads: each takes a range of the log, gathers the records of the jobs that begin there, wherever
// else in the log they lie, merges and labels them.  One transaction: an import is there whole or not at all.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/label/label.h"
#include "workload/read/reader.h"
#include "workload/store/store.h"

namespace sickbay::workload {

struct ImportOrder {
  std::vector<std::string> inputs;  ///< files, plain or compressed; "-" is standard input
  std::string name;                 ///< what they are called, where their paths say nothing: "sacct"
  ReadOptions read;
  const Labeller* labels = nullptr;
  std::string
      pseudonym_key;  ///< not empty: users, groups, accounts (and their names in paths) become pseudonyms
  std::string rejects_path;  ///< where unreadable records go, with line numbers; empty: only counted
  /// Somebody still writes to the logs: what stands behind the last line end is left for the next time.
  bool growing = false;
  double max_reject_share = 0.05;  ///< more than this: error, nothing is stored
  int threads = 0;
};

/// Records that could not be read, of one kind.
struct RejectKind {
  std::string reason;   ///< without its values
  std::string example;  ///< that of the first line, with its values
  std::uint64_t records = 0, first_line = 0;
};
struct SourceResult {
  std::string name, format;
  std::uint64_t bytes = 0, lines = 0, records = 0, rejected = 0;
  std::vector<std::string> notes;
  std::vector<RejectKind> rejects;  ///< the most frequent first
};
struct ImportResult {
  std::vector<SourceResult> sources;
  std::uint64_t jobs_seen = 0, jobs_new = 0, jobs_changed = 0, jobs_unchanged = 0;
  double seconds = 0;
};

/// Errors: not_found, bad_input (no format, too many rejects, truncated input), storage_full, busy.
Result<ImportResult> import_logs(Store& store, const ImportOrder& order);

}  // namespace sickbay::workload
