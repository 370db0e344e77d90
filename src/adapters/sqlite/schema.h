// SPDX-License-Identifier: Apache-2.0
// The two kinds of age in a journal: of its tables (schema) and of the bodies of its events (v).
//
// A file is brought to today's schema once, when a writer opens it.  Bodies are never rewritten: they are
// raised in memory each time they are read, so that an old journal stays what it was.  Both go by a table
// whose released rows never change.  Inside adapters/sqlite, and for its tests.
#pragma once
#include <sqlite3.h>

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "model/event.h"

namespace sickbay::sqlite {

/// "SBj1" in PRAGMA application_id: a journal or an archive, and no other SQLite database.
inline constexpr int kApplicationId = 0x53426a31;

/// One body version to the next: `raise` turns a body of (kind, from) into one of (kind, from + 1).
struct RaiseRow {
  std::string_view kind;
  int from;
  void (*raise)(Json& body);
};

/// Schema n is what the first n rows make of an empty file.
std::span<const char* const> migrations();
/// All raises there are.
std::span<const RaiseRow> raises();

/// Raises `event` to the newest version that `rows` lead to.
/// Errors: too_new where its v is past that: a newer Sickbay wrote it.
Status raise_event(Event& event, std::span<const RaiseRow> rows);

/// The schema of the open file.  Errors: too_new; storage_broken (no database, or another program's).
Result<int> check_schema(sqlite3* db, const std::string& path, std::span<const char* const> rows);
/// Brings the open file to the newest schema of `rows`, each step in a transaction of its own.
/// Errors: those of check_schema, storage_full.
Status migrate(sqlite3* db, const std::string& path, std::span<const char* const> rows);

}  // namespace sickbay::sqlite
