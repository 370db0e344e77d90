// SPDX-License-Identifier: Apache-2.0
// The journal on SQLite: WAL, synchronous=FULL, one writer (doc/formats/journal.md).
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ports/journal.h"

namespace sickbay {

/// The journal with what only the SQLite one can do.
///
/// append() also answers bad_input, with nothing appended, for a body that could not be read back (nested too
/// deep, a key twice) and for a version that read() would refuse.  On return each body is what read() will
/// give: where text was not UTF-8 it has been replaced in the caller's event as in the file, so that live
/// state and replay see the same.
class SqliteJournal : public Journal {
 public:
  struct Compaction {
    std::vector<std::string> subjects;  ///< archived by this call
    std::size_t looked_at = 0;          ///< so many of those that were named: the rest is for another call
    std::int64_t events = 0;            ///< taken out of the journal
  };
  /// Moves the events of those of `subjects` (closed ones) whose last event is older than `closed_before` to
  /// the archive of their year (journal-2026.db beside the journal) and leaves one event `archived` each, in
  /// the place of the last.  A subject that was archived before goes to the same file again.  It takes no
  /// further subject when it has `most` events.  A crash or an error in between leaves events in both files
  /// or in the journal only; the next call finishes it.
  /// Errors: storage_full, storage_broken, too_new, conflict (a foreign archive); the journal is as it was.
  /// Cost: reads each subject once; one commit, and one for each archive.
  virtual Result<Compaction> compact(TimePoint closed_before, const std::vector<std::string>& subjects,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) = 0;
  /// The same of one subject that never closes, and of its events before `before` alone: at most `most` of
  /// them, oldest first, in the place of the last of which one `archived` is left.  That the later ones stand
  /// for them is for the caller to see to.  The archive is that of the last one's year.
  virtual Result<Compaction> compact_before(TimePoint before, const std::string& subject,
                                            std::size_t most) = 0;
  /// What the events up to `seq` are known by: how many there are, and what their sums add up to.  As long as
  /// none of them is changed, moved or gone it stays the same, whatever comes after them.  Cost: reads what
  /// comes after `seq`.  Errors: storage_broken.
  virtual Result<std::string> mark_until(std::int64_t seq) = 0;
};

/// Opens or creates the journal at `path` for writing, and raises an old schema.
/// Errors: conflict (another process has it; names its pid), too_new, storage_full, storage_broken, denied,
/// not_found (no such folder).
Result<std::unique_ptr<SqliteJournal>> open_journal(const std::string& path);
/// Opens it, or an archive, for reading only, also while a daemon writes: each read sees what was committed
/// when it began, last_seq() what is committed now.  append() and compact() answer conflict.
/// Errors: not_found, denied, too_new, storage_broken.
Result<std::unique_ptr<SqliteJournal>> open_journal_reader(const std::string& path);

/// One Event::text() a line, in order: what replay equality is tested on.  Errors: those of read().
Status dump_journal(Journal& journal, const std::function<void(const std::string&)>& line);

}  // namespace sickbay
