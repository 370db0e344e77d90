// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/statement.h"

#include <fmt/format.h>

namespace sickbay::sqlite {

Error error_of(sqlite3* db, std::string_view doing) {
  const int code = db ? sqlite3_errcode(db) & 0xFF : SQLITE_NOMEM;
  ErrorCode ours = ErrorCode::storage_broken;
  if (code == SQLITE_FULL) ours = ErrorCode::storage_full;
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) ours = ErrorCode::conflict;
  if (code == SQLITE_CANTOPEN) ours = ErrorCode::not_found;
  if (code == SQLITE_READONLY || code == SQLITE_PERM) ours = ErrorCode::denied;
  // A write that finds no space in the WAL says IOERR; errno tells it from a broken disk.
  if (code == SQLITE_IOERR && db) {
    const int os = sqlite3_system_errno(db);
    if (os == 28 /* ENOSPC */ || os == 122 /* EDQUOT */) ours = ErrorCode::storage_full;
  }
  return Error(ours, fmt::format("cannot {}: {}", doing, db ? sqlite3_errmsg(db) : "out of memory"));
}

Status execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(error_of(db, "write the journal"));
}

Status Statement::prepare(sqlite3* db, const char* sql) {
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) == SQLITE_OK)
    return {};
  return fail(error_of(db, "read the journal"));
}

std::string Statement::text(int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
               : std::string();
}

}  // namespace sickbay::sqlite
