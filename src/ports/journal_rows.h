// SPDX-License-Identifier: Apache-2.0
// A journal as rows, for a copy of it on another host: as they lie in the file, with their sums.
//
// Nothing here is parsed or raised: a copy is the same file to any reader, whichever version wrote it.
// adapters/sqlite implements both sides.  Source: doc/design/standby.md, "Following".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sickbay {

/// One event as it lies in the file.
struct JournalRow {
  std::int64_t seq = 0, at = 0, v = 0;
  std::string subject, kind, body;
  std::int64_t sum = 0;  ///< of all of these, as the journal has it
  friend bool operator==(const JournalRow&, const JournalRow&) = default;
};

/// The journal that is followed.  Each call sees what is committed when it is made.
class JournalRows {
 public:
  virtual ~JournalRows() = default;
  /// Rows after `seq`, in order: as many as `most_bytes` hold, and one where that alone is longer.  A row
  /// whose sum does not fit is none that anybody shall have: storage_broken.
  virtual Result<std::vector<JournalRow>> rows_after(std::int64_t seq, std::size_t most_bytes) = 0;
  /// The sum of one row; nothing where it is not there.
  virtual Result<std::optional<std::int64_t>> sum_at(std::int64_t seq) = 0;
  virtual Result<std::int64_t> last_seq() = 0;
  /// What all rows up to `seq` are known by (SqliteJournal::mark_until).
  virtual Result<std::string> mark_until(std::int64_t seq) = 0;
};

/// The copy.  Beside it another can be begun anew, which takes its place when it is whole.
class JournalCopy {
 public:
  struct Place {
    std::int64_t seq = 0, sum = 0;  ///< of the last row; 0: there is none
    friend bool operator==(const Place&, const Place&) = default;
  };
  virtual ~JournalCopy() = default;

  /// Where the copy ends that append() adds to.
  virtual Place place() const = 0;
  /// That is one that was begun anew, and the one before is still there.
  virtual bool is_anew() const = 0;
  /// Adds `rows` in one transaction, durable on return: all or none.  Errors: bad_input (a row that does not
  /// fit its sum, or does not come after the last), storage_full, storage_broken.
  virtual Status append(const std::vector<JournalRow>& rows) = 0;
  /// What all its rows are known by.
  virtual Result<std::string> mark() = 0;
  /// Begins anew, with nothing.  Errors: storage_full, storage_broken, denied.
  virtual Status begin_anew() = 0;
  /// The one that was begun anew becomes the copy.  The name of the file in which the one before is kept; ""
  /// where it was not to be, or had nothing.
  virtual Result<std::string> end_anew(bool keep_old, TimePoint now) = 0;
};

}  // namespace sickbay
