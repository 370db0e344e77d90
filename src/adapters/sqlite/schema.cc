// SPDX-License-Identifier: Apache-2.0
// Schema and body versions.  See schema.h.
#include "adapters/sqlite/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/statement.h"

namespace sickbay::sqlite {
namespace {

// A row once released is never changed: files out there are what it made.
constexpr auto kMigrations = std::to_array<const char*>({
    // 1: seq is the primary key and therefore the order of the file; the index serves one subject's history.
    "CREATE TABLE event(seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, v INTEGER NOT NULL,"
    " subject TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
    "CREATE INDEX event_subject ON event(subject, seq);",
    // 2: a sum of each row, and the balance of all (balance.h).
    "ALTER TABLE event ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;"
    "UPDATE event SET sum = sickbay_row_sum(seq, at, v, subject, kind, body);"
    "CREATE TABLE balance(events INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;"
    "INSERT INTO balance SELECT count(*), sickbay_sum(sum) FROM event;",
});

// Raises that need nothing but the body: none yet.  Those that need the state before the event are the
// engines' (model/event_kinds.h, kKindVersions), and their events are given as they are.
constexpr std::array<RaiseRow, 0> kRaises{};

Result<std::int64_t> number(sqlite3* db, const std::string& path, const char* sql) {
  Statement statement;
  if (auto prepared = statement.prepare(db, sql); !prepared) return fail(prepared.error());
  if (statement.step() != SQLITE_ROW) return fail(error_of(db, "read the journal " + path));
  return statement.integer(0);
}

}  // namespace

std::span<const char* const> migrations() { return kMigrations; }
std::span<const RaiseRow> raises() { return kRaises; }

Status raise_event(Event& event, std::span<const RaiseRow> rows) {
  int newest = newest_version(event.kind), raised_here = 1;
  for (const RaiseRow& row : rows)
    if (row.kind == event.kind) raised_here = std::max(raised_here, row.from + 1);
  newest = std::max(newest, raised_here);
  while (event.v < raised_here) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const RaiseRow& r) {
      return r.kind == event.kind && r.from == event.v;
    });
    if (row == rows.end())
      return fail(ErrorCode::storage_broken, fmt::format("event {} ({}) has version {}, which never was",
                                                         event.seq, event.kind, event.v));
    row->raise(event.body);
    ++event.v;
  }
  if (event.v > newest)
    return fail(ErrorCode::too_new, fmt::format("event {} ({}) has version {}; this program knows up to {}",
                                                event.seq, event.kind, event.v, newest));
  return {};
}

Result<int> check_schema(sqlite3* db, const std::string& path, std::span<const char* const> rows) {
  const auto found = number(db, path, "PRAGMA user_version");
  if (!found) return fail(found.error());
  const auto id = number(db, path, "PRAGMA application_id");
  if (!id) return fail(id.error());
  const auto objects = number(db, path, "SELECT count(*) FROM sqlite_schema");
  if (!objects) return fail(objects.error());
  if (*objects > 0 && *id != kApplicationId)
    return fail(Error(ErrorCode::storage_broken, path + " is not a journal of Sickbay")
                    .because("it is an SQLite database of another program")
                    .remedied_by("name the right file; this one was left as it is"));
  if (*found > static_cast<std::int64_t>(rows.size()))
    return fail(ErrorCode::too_new,
                fmt::format("{} has schema {}; this program knows up to {}", path, *found, rows.size()));
  return static_cast<int>(*found);
}

Status migrate(sqlite3* db, const std::string& path, std::span<const char* const> rows) {
  const auto found = check_schema(db, path, rows);
  if (!found) return fail(found.error());
  if (auto added = add_functions(db); !added) return added;
  for (auto n = static_cast<std::size_t>(*found); n < rows.size(); ++n) {
    // The version changes with the tables or not at all.
    const std::string sql = fmt::format(
        "BEGIN IMMEDIATE; {} PRAGMA application_id={}; PRAGMA user_version={};"
        " COMMIT;",
        rows[n], kApplicationId, n + 1);
    if (auto done = execute(db, sql.c_str()); !done) {
      Error error = done.error();
      sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
      return fail(std::move(error).in(fmt::format("raising {} to schema {}", path, n + 1)));
    }
  }
  return {};
}

}  // namespace sickbay::sqlite
