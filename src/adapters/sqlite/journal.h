// SPDX-License-Identifier: Apache-2.0
// The journal on SQLite: WAL, synchronous=FULL, one writer (doc/formats/journal.md).
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ports/journal.h"

namespace sickbay {

/// The journal with what only the SQLite one can do.
class SqliteJournal : public Journal {
 public:
  struct Compaction {
    std::size_t subjects = 0;
    std::int64_t events = 0;
  };
  /// Moves the events of `subjects` (closed ones) to the archive of their year (journal-2026.db beside the
  /// journal) and leaves one event `archived` each, in the place of the last.  A crash in between leaves them
  /// in both, never in none; the next call finishes it.  Errors: storage_full, storage_broken.
  virtual Result<Compaction> compact(const std::vector<std::string>& subjects) = 0;
};

/// Opens or creates the journal at `path` for writing, and raises an old schema.
/// Errors: conflict (another process has it; names its pid), too_new, storage_full, storage_broken, denied.
Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& path);
/// Opens it for reading only, also while a daemon writes.  append() answers conflict.
Result<std::unique_ptr<SqliteJournal>> open_journal_reader(const std::string& path);

/// One Event::text() a line, in order: what replay equality is tested on.
Status dump_journal(Journal& journal, const std::function<void(const std::string&)>& line);

/// Brings the body of an event of an older version to today's.  One row per (kind, version) in journal.cc.
void raise_event(Event& event);

}  // namespace sickbay
