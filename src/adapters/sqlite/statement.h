// SPDX-License-Identifier: Apache-2.0
// Connection and Statement: SQLite's handles with owners, and how its codes become ours.
// Inside adapters/sqlite only.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::sqlite {

/// storage_full, denied, not_found or storage_broken for an errno of a file operation.
ErrorCode error_code_of(int errno_value);

/// The Error for the state that `db` is in; `doing` is what was tried.
Error error_of(sqlite3* db, std::string_view doing);

/// Runs statements whose rows do not matter.
Status execute(sqlite3* db, const char* sql);

/// An open database.  Statements prepared on it may outlive it (sqlite3_close_v2).
class Connection {
 public:
  Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { sqlite3_close_v2(db_); }

  /// `flags`: SQLITE_OPEN_...; a file that is made gets mode 0600.  Errors: not_found, denied,
  /// storage_broken.
  Status open(const std::string& path, int flags);
  sqlite3* get() const { return db_; }

 private:
  sqlite3* db_ = nullptr;
};

class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Status prepare(sqlite3* db, const char* sql);
  void bind(int at, std::int64_t value) { bound(sqlite3_bind_int64(statement_, at, value)); }
  void bind(int at, std::string_view text) {
    bound(sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  /// SQLITE_ROW, SQLITE_DONE or an error code: also that of a bind() since the last reset(), for a parameter
  /// that was not bound is NULL, and a statement with that one does something else.
  int step() { return unbound_ != SQLITE_OK ? unbound_ : sqlite3_step(statement_); }
  void reset() {
    sqlite3_reset(statement_);
    unbound_ = SQLITE_OK;
  }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column);

 private:
  void bound(int code) {
    if (code != SQLITE_OK && unbound_ == SQLITE_OK) unbound_ = code;
  }

  sqlite3_stmt* statement_ = nullptr;
  int unbound_ = SQLITE_OK;  ///< why a parameter was not bound
};

}  // namespace sickbay::sqlite
