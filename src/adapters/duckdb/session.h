// SPDX-License-Identifier: Apache-2.0
// What stands behind Database and Connection: the handles, and how a statement is run.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/duckdb/database.h"
#include "adapters/duckdb/library.h"
#include "adapters/duckdb/source.h"

namespace sickbay::duck {

/// An open database, shared with its connections: whoever goes last closes it.
struct SharedDatabase {
  duckdb_database handle = nullptr;
  std::mutex mutex;
  std::vector<std::shared_ptr<SourceState>> sources;

  ~SharedDatabase() { lib.duckdb_close(&handle); }
  /// The error that a source had since the last call: it says more than DuckDB's copy of its text.
  std::optional<Error> take_source_error();
};

/// A connection.  For one thread at a time, but for interrupt().
struct Session {
  std::shared_ptr<SharedDatabase> database;
  duckdb_connection handle = nullptr;

  Session() = default;
  Session(const Session&) = delete;
  ~Session() { lib.duckdb_disconnect(&handle); }

  enum class Allowed : bool { anything, one_select };
  using Head = std::function<void(const std::vector<ResultColumn>&)>;
  using Row = std::function<bool(std::vector<Value>&)>;  ///< may take the values; false: enough

  /// Runs all statements of `sql` and gives the last one's result to `head` and `row`.  `streamed`: rows are
  /// made while they are asked for.
  Status run(std::string_view sql, const std::vector<Value>& parameters, Allowed allowed, bool streamed,
             const Head& head, const Row& row);

 private:
  Error error_of(const char* message);
  Status bind(duckdb_prepared_statement statement, const std::vector<Value>& parameters);
  Status give(duckdb_result& result, const Head& head, const Row& row);
};

}  // namespace sickbay::duck
