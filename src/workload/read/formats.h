// SPDX-License-Identifier: Apache-2.0
// The table of accounting formats: for each its name, how its content is known, and what opens it.
//
// A new format is a file read_NAME.cc with the two functions of its row, a line here for them, and the row in
// formats.cc.  open_reader() asks the rows in their order, so the surer signs stand first.
#pragma once
#include <span>

#include "workload/read/reader.h"

namespace sickbay::workload {

struct Format {
  std::string_view name;     ///< of --format and OpenedReader::format
  std::string_view meaning;  ///< for people: "sacct --json"
  /// The file that begins with `head` is surely of this format (a byte order mark is taken off before).
  bool (*looks_like)(std::string_view head, const ReadOptions& options);
  /// Its reader.  Errors: bad_input.
  Result<OpenedReader> (*open)(std::string_view head, bool whole_file, const ReadOptions& options);
};

/// All of them, in the order in which they are asked.
std::span<const Format> formats();

// sacct -P and -p, with any delimiter: read_sacct.cc
bool looks_like_sacct(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_sacct(std::string_view head, bool whole_file, const ReadOptions& options);

// sacct's own default output, in columns of fixed width: read_sacct_fixed.cc
bool looks_like_sacct_fixed(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_sacct_fixed(std::string_view head, bool whole_file, const ReadOptions& options);

// sacct --json: read_sacct_json.cc
bool looks_like_sacct_json(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_sacct_json(std::string_view head, bool whole_file, const ReadOptions& options);

// CSV with quotes, columns by known names or a map: read_csv.cc
bool looks_like_csv(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_csv(std::string_view head, bool whole_file, const ReadOptions& options);

// PBS Pro and TORQUE: read_pbs.cc
bool looks_like_pbs(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_pbs(std::string_view head, bool whole_file, const ReadOptions& options);
bool looks_like_torque(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_torque(std::string_view head, bool whole_file, const ReadOptions& options);

// LSF's lsb.acct: read_lsf.cc
bool looks_like_lsf(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_lsf(std::string_view head, bool whole_file, const ReadOptions& options);

// Grid Engine's accounting file: read_sge.cc
bool looks_like_sge(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_sge(std::string_view head, bool whole_file, const ReadOptions& options);

// The Standard Workload Format: read_swf.cc
bool looks_like_swf(std::string_view head, const ReadOptions& options);
Result<OpenedReader> open_swf(std::string_view head, bool whole_file, const ReadOptions& options);

}  // namespace sickbay::workload
