// SPDX-License-Identifier: Apache-2.0
// A prepared statement and how SQLite's codes become ours.  Inside adapters/sqlite only.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::sqlite {

/// The Error for the state that `db` is in; `doing` is what was tried.
Error error_of(sqlite3* db, std::string_view doing);

/// Runs statements that give no rows.
Status execute(sqlite3* db, const char* sql);

class Statement {
 public:
  Statement() = default;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Status prepare(sqlite3* db, const char* sql);
  void bind(int at, std::int64_t value) { sqlite3_bind_int64(statement_, at, value); }
  void bind(int at, std::string_view text) {
    sqlite3_bind_text(statement_, at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  /// SQLITE_ROW, SQLITE_DONE or an error code.
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  std::int64_t integer(int column) { return sqlite3_column_int64(statement_, column); }
  std::string text(int column);

 private:
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace sickbay::sqlite
