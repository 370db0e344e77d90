// SPDX-License-Identifier: Apache-2.0
// Archives of closed subjects.  See archive.h.
#include "adapters/sqlite/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "adapters/sqlite/balance.h"
#include "adapters/sqlite/row.h"
#include "adapters/sqlite/schema.h"
#include "adapters/sqlite/statement.h"
#include "base/time.h"

namespace sickbay::sqlite {
namespace {

Status copy_all(sqlite3* db, const std::string& path, const std::vector<Event>& events) {
  Statement insert, same;
  if (auto p = prepare_insert(insert, db, "INSERT OR IGNORE"); !p) return p;
  // v and body may differ where a newer program copies again what an older one had copied: they are raised.
  if (auto p = same.prepare(db, "SELECT 1 FROM event WHERE seq = ? AND at = ? AND subject = ? AND kind = ?");
      !p)
    return p;
  auto balance = read_balance(db, path);
  if (!balance) return fail(balance.error());
  for (const Event& event : events) {
    if (event.kind == kArchived) continue;
    const Row row = row_of(event);
    const std::int64_t sum = bind_row(insert, row);
    if (insert.step() != SQLITE_DONE) return fail(error_of(db, "write the archive " + path));
    if (sqlite3_changes(db) == 1) {
      balance->add(sum);
      continue;
    }
    same.reset();
    same.bind(1, row.seq);
    same.bind(2, row.at);
    same.bind(3, row.subject);
    same.bind(4, row.kind);
    const int found = same.step();
    same.reset();
    if (found == SQLITE_ROW) continue;
    if (found != SQLITE_DONE) return fail(error_of(db, "read the archive " + path));
    return fail(Error(ErrorCode::conflict, fmt::format("{} has another event under seq {}", path, event.seq))
                    .because("the archive belongs to a journal that was here before")
                    .remedied_by("move the old archive elsewhere; nothing was changed"));
  }
  insert.reset();
  if (auto kept = write_balance(db, *balance); !kept) return kept;
  return execute(db, "COMMIT");
}

}  // namespace

std::string archive_name(const std::string& journal_path, TimePoint at) {
  std::string name = journal_path.substr(journal_path.rfind('/') + 1);
  if (name.ends_with(".db")) name.resize(name.size() - 3);
  return fmt::format("{}-{}.db", name, format_time(at).substr(0, 4));
}

std::vector<std::string> archives_of(const std::string& journal_path) {
  namespace fs = std::filesystem;
  std::vector<std::string> found;
  const fs::path file(journal_path);
  const std::string begin = file.stem().string() + "-";
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(file.has_parent_path() ? file.parent_path() : ".", none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".db") && name.size() == begin.size() + 7)
      found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Status copy_to_archive(const std::string& path, const std::vector<Event>& events) {
  Connection archive;
  if (auto opened = archive.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE); !opened) return opened;
  sqlite3* db = archive.get();
  // EXTRA also syncs the folder after the rollback journal is unlinked.  With FULL a power cut could bring
  // that file back and with it undo this commit, when the events are gone from the journal already.
  if (auto set = execute(db, "PRAGMA synchronous=EXTRA"); !set) return set;
  if (auto raised = migrate(db, path, migrations()); !raised) return raised;
  if (auto begun = execute(db, "BEGIN IMMEDIATE"); !begun) return begun;
  auto copied = copy_all(db, path, events);
  if (!copied) sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  return copied;
}

Event summary_of(const std::vector<Event>& events, const std::string& file) {
  SB_CHECK(!events.empty(), "a summary is of something");
  std::int64_t first = 0;
  Json kinds = Json::object();
  const auto count = [&](const std::string& kind, std::int64_t n) {
    kinds.set(kind, kinds[kind].as_int() + n);
  };
  for (const Event& event : events) {
    const bool summary = event.kind == kArchived;
    if (first == 0) first = summary ? event.body["first"].as_int() : event.seq;
    if (summary)
      for (const auto& [kind, n] : event.body["kinds"].members()) count(kind, n.as_int());
    else
      count(event.kind, 1);
  }
  Event left = events.back();
  left.kind = kArchived;
  left.v = 1;
  left.body = Json::object(
      {{"kinds", std::move(kinds)}, {"first", first}, {"last", events.back().seq}, {"file", file}});
  return left;
}

}  // namespace sickbay::sqlite
