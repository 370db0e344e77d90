// SPDX-License-Identifier: Apache-2.0
// How a journal's file is written: a write-ahead log, and each commit on the disk when it returns.
// Inside adapters/sqlite only.
#pragma once
#include <sqlite3.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay::sqlite {

/// To be called once on a connection that writes.  Errors: storage_broken (also a file system without shared
/// memory maps), storage_full.
Status set_durable(sqlite3* db, const std::string& path);

/// After a failed write: its error, and what was begun is undone.
Error undone(sqlite3* db, std::string_view doing, const std::string& path);

/// For the errno that a call about the file `path` has left.
Error file_failed(std::string_view doing, const std::string& path);
/// What was written of it is on the disk; `flags` as of open(): a folder takes O_DIRECTORY.
Status sync(const std::string& path, int flags);

}  // namespace sickbay::sqlite
