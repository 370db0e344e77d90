// SPDX-License-Identifier: Apache-2.0
// DuckDB behind a few types of ours: open, ask, and feed it rows from threads of its own.
//
// Only this folder includes duckdb.h.  A Connection is for one thread at a time; a Database may have several.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "adapters/duckdb/chunk_writer.h"
#include "base/result.h"
#include "base/size.h"

namespace sickbay::duck {

/// NULL, text, integer (also time), real, boolean.  What DuckDB has beside them comes so: DATE, TIME,
/// INTERVAL, UUID, ENUM as text; LIST, STRUCT, MAP as JSON text; HUGEINT and DECIMAL without a fraction as
/// integer, or real where they do not fit; other DECIMAL as real; infinite dates and times as the text
/// "infinity".
using Value = std::variant<std::monostate, std::string, std::int64_t, double, bool>;
inline bool is_null(const Value& value) { return std::holds_alternative<std::monostate>(value); }

struct ResultColumn {
  std::string name;
  Type type = Type::text;
};

/// A result held whole: rows[i][column].
struct ResultTable {
  std::vector<ResultColumn> columns;
  std::vector<std::vector<Value>> rows;
};

struct OpenOptions {
  std::string path = {};  ///< empty: in memory
  bool read_only = false;
  /// No file, network, extension or setting can be reached from SQL; with read_only nothing can be written at
  /// all.
  bool sandboxed = false;
  /// false: INSERT ... SELECT from a source runs on all threads, and rows without ORDER BY come in any order.
  bool keep_order = true;
  int threads = 0;               ///< 0: one per core
  Bytes memory_limit{0};         ///< 0: DuckDB's own
  std::string temp_folder = {};  ///< where it spills; empty: beside the file, or in $TMPDIR for one in memory
};

/// What one of DuckDB's threads runs: fills the chunk until it is full or nothing is left (then no row is
/// added).
class RowProducer {
 public:
  virtual ~RowProducer() = default;
  virtual Status fill(ChunkWriter& chunk) = 0;
};

/// A table that SQL can read and that our code makes: SELECT * FROM name().  A producer's error becomes the
/// query's; then the other producers are not asked again.
struct RowSource {
  std::string name;
  std::vector<ResultColumn> columns;
  int max_threads = 1;
  std::function<std::unique_ptr<RowProducer>()> producer;  ///< called once for each thread
};

struct SharedDatabase;  // session.h

class Connection {
 public:
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// Runs all statements of `sql`; the result of the last ("Count" of an INSERT).  Parameters are ? or $1.
  /// Errors: bad_input with DuckDB's message (and its line), storage_full, storage_broken, denied, conflict
  /// (of transactions), timed_out (interrupted), os (memory); a producer's own.
  Result<ResultTable> query(std::string_view sql, const std::vector<Value>& parameters = {});
  Status execute(std::string_view sql);
  /// The whole number that begins the first row of `sql`'s result; 0 where there is none.  Errors: as query.
  Result<std::int64_t> number(std::string_view sql);
  /// One SELECT only, whatever `sql` holds, and no table function that may do more than read; for SQL that
  /// others wrote, together with OpenOptions::sandboxed.  Rows over `max_rows` are an error.
  Result<ResultTable> select(std::string_view sql, std::size_t max_rows);
  /// Runs all statements; the result of the last row by row, so that it need not fit into memory.  `head` is
  /// called once, where there is a result; `row` returns false to stop.
  Status stream(std::string_view sql, const std::function<void(const std::vector<ResultColumn>&)>& head,
                const std::function<bool(const std::vector<Value>&)>& row);
  /// The same under the rules of select().
  Status stream_select(std::string_view sql,
                       const std::function<void(const std::vector<ResultColumn>&)>& head,
                       const std::function<bool(const std::vector<Value>&)>& row);
  /// For all connections of the database, and as long as it is open.  Not within a transaction.
  /// Errors: already_exists.
  Status add_source(RowSource source);
  /// A further connection to the same database, for another thread.
  Result<Connection> another();
  /// Ends a query of this connection from another thread.
  void interrupt();

 private:
  friend class Database;
  struct Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  static Result<Connection> to(std::shared_ptr<SharedDatabase> database);
  std::unique_ptr<Impl> impl_;
};

class Database {
 public:
  /// Errors: not_found, storage_broken (not a store, or of a newer DuckDB: says so), busy (another process
  /// holds it), denied, missing_program (no libduckdb.so).  Extensions are never fetched, sandboxed or not.
  static Result<Database> open(const OpenOptions& options);
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;
  ~Database();
  Result<Connection> connect();

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The library's version: "v1.4.4".
std::string version();

/// 'it''s' : an SQL text literal of any bytes.
std::string quote(std::string_view text);

}  // namespace sickbay::duck
