// SPDX-License-Identifier: Apache-2.0
#include "adapters/sqlite/durable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {

Status set_durable(sqlite3* db, const std::string& path) {
  Statement mode;
  if (auto prepared = mode.prepare(db, "PRAGMA journal_mode=WAL"); !prepared) return prepared;
  if (mode.step() != SQLITE_ROW) return fail(error_of(db, "write the journal " + path));
  if (mode.text(0) != "wal")
    return fail(Error(ErrorCode::storage_broken, path + " cannot have a write-ahead log")
                    .because("its file system has no shared memory maps")
                    .remedied_by("put the journal on a local disk"));
  return execute(db,
                 "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=1000;"
                 "PRAGMA journal_size_limit=67108864;");
}

// The error first, for ROLLBACK would replace it.
Error undone(sqlite3* db, std::string_view doing, const std::string& path) {
  Error error = error_of(db, fmt::format("{} {}", doing, path));
  sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  return error;
}

Error file_failed(std::string_view doing, const std::string& path) {
  const int why = errno;
  return Error(error_code_of(why), fmt::format("cannot {} {}: {}", doing, path, std::strerror(why)));
}

Status sync(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return fail(file_failed("open", path));
  const Status synced = ::fsync(fd) == 0 ? Status() : fail(file_failed("sync", path));
  ::close(fd);
  return synced;
}

}  // namespace sickbay::sqlite
