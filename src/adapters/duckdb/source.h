// SPDX-License-Identifier: Apache-2.0
// A RowSource as a table function of DuckDB.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "adapters/duckdb/database.h"
#include "adapters/duckdb/library.h"

namespace sickbay::duck {

/// What DuckDB's threads share of one source, and what outlives the query: its error.
class SourceState {
 public:
  explicit SourceState(RowSource source) : source_(std::move(source)) {}
  const RowSource& source() const { return source_; }
  /// Keeps the first error of a query; the text goes to DuckDB, the Error itself is taken from here.
  void fail_with(Error error);
  bool failed() const { return failed_; }
  /// The error since the last call, if any.
  std::optional<Error> take_error();

 private:
  const RowSource source_;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;
};

/// Makes `state` known to `connection`'s database.  False: it has a function of that name.
bool register_source(duckdb_connection connection, std::shared_ptr<SourceState> state);

}  // namespace sickbay::duck
