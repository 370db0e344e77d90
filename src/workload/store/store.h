// SPDX-License-Identifier: Apache-2.0
// The store: a DuckDB file with one row per job, made by imports, read by reports and by anyone's SQL.
//
// Tables (doc/formats/job.md): jobs (the columns of fields.h), imports (one row per source, by its content's
// hash), rejects (per import and reason: count, first line), node_events, nodes, run_records (records that
// may still change a job, merge/records.h).  There is no index: the import keeps (cluster, job_id,
// submit_time) unique.
#pragma once
#include <string>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/store/schema.h"

namespace sickbay::workload {

/// 1; 2 since nodes and their events have a cluster, and sizes of nodes a date; 3 since records of jobs that
/// may run again are kept, which a Sickbay that does not know of them would leave as they are while it adds
/// to the jobs.  An older store is raised when it is opened to be written; one that is only read is shown as
/// if it were.
inline constexpr int kStoreVersion = 3;

enum class StoreMode : std::uint8_t {
  create,  ///< made where it does not exist
  write,   ///< must exist
  read,    ///< read only
};

struct StoreOptions {
  std::string path;  ///< empty: in memory
  StoreMode mode = StoreMode::create;
  int threads = 0;
  Bytes memory_limit{0};
  bool sandboxed = false;  ///< for SQL that others wrote
  /// For one import, its reports, and then thrown away: a table of the columns that the logs can fill takes
  /// the place of jobs, which is a view of it.  make_jobs() makes both.
  bool scratch = false;
  /// false, for a scratch store: texts of few values only, which reports would hash one by one.  To compress
  /// all takes half of an import's time.
  bool compressed = true;
};

class Store {
 public:
  /// Errors: not_found, too_new, storage_broken, busy.
  static Result<Store> open(const StoreOptions& options);
  duck::Database& database() { return database_; }
  duck::Connection& connection() { return connection_; }
  bool scratch() const { return scratch_; }
  /// The table that holds the jobs.
  std::string_view jobs_table() const { return scratch_ ? kScratchJobs : "jobs"; }
  /// Makes the jobs of a scratch store.
  Status make_jobs(std::span<const JobColumn> columns);

 private:
  Store(duck::Database database, duck::Connection connection, const StoreOptions& options)
      : database_(std::move(database)),
        connection_(std::move(connection)),
        scratch_(options.scratch),
        compressed_(options.compressed) {}
  duck::Database database_;
  duck::Connection connection_;
  bool scratch_, compressed_;
};

}  // namespace sickbay::workload
