// SPDX-License-Identifier: Apache-2.0
// What every reader of an accounting format does: split bytes into records, and parse one record into rows.
//
// The import (workload/import) goes over a log twice.  First split(), which only finds where records are and
// which job each belongs to; then parse(), record by record, all records of one job together, in whatever
// order and however far apart the log has them.  So a reader keeps no state between records, and both
// functions run on several threads. A new format: one file read_NAME.cc with a class of this kind, a row in
// formats.cc (its name, how its content is known), a fuzz target, and fixtures.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/job/arena.h"
#include "workload/job/row.h"
#include "workload/job/rows.h"

namespace sickbay::workload {

/// Where a record is, and whose it is.
struct RecordSpan {
  std::uint64_t offset = 0;  ///< in the text given to split()
  std::uint32_t length = 0;  ///< without its newline
  std::uint32_t lines = 1;   ///< lines it takes up
  std::uint64_t job =
      0;  ///< hash_job() of the job's id and its cluster where a row has one; equal for a job and its steps
};

/// A record that cannot be read: kept for the rejects file.
struct Reject {
  std::string_view record;
  std::string reason;  ///< one sentence, with the offending value
};

class Reader {
 public:
  virtual ~Reader() = default;

  /// Finds the records in `text`, which starts at the start of a record (the header of the file is not in
  /// it). With `last`, `text` goes to the end of the file; else the last, perhaps cut, record is left.
  /// Returns the number of bytes that were used up.
  virtual std::size_t split(std::string_view text, bool last, std::vector<RecordSpan>& records) const = 0;

  /// The first offset in `text` where a record surely starts, so that a file can be split on several threads;
  /// npos: not known, the file is split from its start on one thread (JSON, quoted CSV).
  virtual std::size_t find_start(std::string_view text) const = 0;

  /// Parses one record, adds its row or rows, and says false with `reason` when it cannot be read.
  /// Rows point into `record` and `arena`.
  virtual bool parse(std::string_view record, Arena& arena, Rows& rows, std::string& reason) const = 0;

  /// The fields that parse() may set; it sets no other.  A table of these and of what the merge makes of them
  /// holds all that the log says.
  virtual FieldSet fields() const { return FieldSet::all(); }

  /// Whether the log tells one run of a job after another, in records that are put together by where runs end
  /// (RowKind::rerun): then those of a job that may go on are kept for the imports to come.
  virtual bool tells_runs() const { return false; }

  /// Fields that this log can say, for "this report needs MaxRSS, which the log does not have"; also what is
  /// lost.
  virtual std::string describe() const = 0;
};

/// What a person may say of a log, over what its content says.
struct ReadOptions {
  std::string format;  ///< "sacct", "sacct-fixed", "sacct-json", "csv", "pbs", "torque", "lsf", "sge", "swf";
                       ///< empty: by content
  std::string delimiter;             ///< of sacct -P; one or more bytes; empty: by the header
  std::vector<std::string> columns;  ///< names of the columns, for a log without its header
  std::string column_map;            ///< CSV: JSON text {"job_id": "JobId", ...}; empty: by known names
  std::string time_zone = "UTC";     ///< of times without one; an IANA name
  std::string cluster;               ///< where rows do not say
};

struct OpenedReader {
  std::unique_ptr<Reader> reader;
  std::string format;
  std::size_t header_bytes = 0;  ///< of the file's start that are no records
  std::uint32_t header_lines = 0;
  std::vector<std::string> notes;  ///< for the person: "names are cut at 10 characters"
};

/// The reader for a file that begins with `head` (its first megabyte, or all of it).
/// Errors: bad_input when no format fits or no column is known, with what was seen and what is needed.
Result<OpenedReader> open_reader(std::string_view head, bool whole_file, const ReadOptions& options);

/// For a file that holds nothing, where others beside it do: no records, and a note.
OpenedReader open_empty();

/// The hash that RecordSpan::job carries.  `job` is the id before its first '.', as printed.
std::uint64_t hash_job(std::string_view cluster, std::string_view job);

}  // namespace sickbay::workload
