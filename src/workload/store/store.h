// SPDX-License-Identifier: Apache-2.0
// The store: a DuckDB file with one row per job, made by imports, read by reports and by anyone's SQL.
//
// Tables (doc/formats/job.md): jobs (the columns of fields.h), imports (one row per source, by its content's
// hash), rejects (per import and reason: count, first line), node_events, nodes.  There is no index: the
// import keeps (cluster, job_id, submit_time) unique.
#pragma once
#include <string>

#include "adapters/duckdb/database.h"
#include "base/result.h"

namespace sickbay::workload {

inline constexpr int kStoreVersion = 1;

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
  /// Read once and thrown away: not compressed, which takes half of an import's time, but for texts of few
  /// values, which reports would hash one by one.
  bool scratch = false;
};

class Store {
 public:
  /// Errors: not_found, too_new, storage_broken, busy.
  static Result<Store> open(const StoreOptions& options);
  duck::Database& database() { return database_; }
  duck::Connection& connection() { return connection_; }

 private:
  Store(duck::Database database, duck::Connection connection)
      : database_(std::move(database)), connection_(std::move(connection)) {}
  duck::Database database_;
  duck::Connection connection_;
};

/// CREATE TABLE statements of all tables, from fields.h.  `scratch`: see StoreOptions.
std::string schema_sql(bool scratch = false);

}  // namespace sickbay::workload
