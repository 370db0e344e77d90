// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/statement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sickbay::sqlite {
namespace {

struct CodeRow {
  int from;
  ErrorCode to;
};
// What is in neither table is storage_broken.
constexpr auto kErrnoCodes = std::to_array<CodeRow>({
    {ENOSPC, ErrorCode::storage_full},
    {EDQUOT, ErrorCode::storage_full},
    {ENOENT, ErrorCode::not_found},
    {ENOTDIR, ErrorCode::not_found},
    {EACCES, ErrorCode::denied},
    {EPERM, ErrorCode::denied},
    {EROFS, ErrorCode::denied},
});
constexpr auto kSqliteCodes = std::to_array<CodeRow>({
    {SQLITE_FULL, ErrorCode::storage_full},
    {SQLITE_BUSY, ErrorCode::conflict},
    {SQLITE_LOCKED, ErrorCode::conflict},
    {SQLITE_READONLY, ErrorCode::denied},
    {SQLITE_PERM, ErrorCode::denied},
});

template <class Table>
ErrorCode look_up(const Table& table, int value) {
  for (const CodeRow& row : table)
    if (row.from == value) return row.to;
  return ErrorCode::storage_broken;
}

}  // namespace

ErrorCode error_code_of(int errno_value) { return look_up(kErrnoCodes, errno_value); }

Error error_of(sqlite3* db, std::string_view doing) {
  if (!db) return Error(ErrorCode::storage_broken, fmt::format("cannot {}: out of memory", doing));
  const int code = sqlite3_errcode(db) & 0xFF;
  // A full disk can come as IOERR (the WAL's shared memory) and a missing right as CANTOPEN; errno tells.
  const bool ask_errno = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  const ErrorCode ours = ask_errno ? error_code_of(sqlite3_system_errno(db)) : look_up(kSqliteCodes, code);
  return Error(ours, fmt::format("cannot {}: {}", doing, sqlite3_errmsg(db)));
}

Status execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return fail(error_of(db, "write the journal"));
}

Status Connection::open(const std::string& path, int flags) {
  if (flags & SQLITE_OPEN_CREATE) {
    // Made here and not by SQLite: readable by its owner alone from the first moment (bodies hold secrets).
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
      return fail(error_code_of(errno), fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    ::close(file);
  }
  if (sqlite3_open_v2(path.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr) != SQLITE_OK)
    return fail(error_of(db_, "open the journal " + path));
  return {};
}

Status Statement::prepare(sqlite3* db, const char* sql) {
  sqlite3_finalize(statement_);
  statement_ = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) == SQLITE_OK) return {};
  return fail(error_of(db, "read the journal"));
}

std::string Statement::text(int column) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
               : std::string();
}

}  // namespace sickbay::sqlite
