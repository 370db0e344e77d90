// SPDX-License-Identifier: Apache-2.0
// Records whose fields somebody else has cut (by quotes, by widths), read as those of sacct -P are: one set
// of columns, one way to read each value.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "workload/read/read_sacct.h"

namespace sickbay::workload {

/// How a field's text is turned into the one that sacct would print.
enum class Turn : std::uint8_t {
  none,
  seconds,       ///< a count of seconds, perhaps with a fraction ("172800.0"): to "2-00:00:00"
  minutes,       ///< likewise of minutes
  milliseconds,  ///< likewise of milliseconds
  whole,         ///< "99825.0": to "99825"
  mib,           ///< a bare number counts MiB: to "64000M"
  kib,
  bytes,
  gpus,  ///< a count of GPUs: to "gres/gpu=4", for a column of TRES
};

/// A column of a log and what becomes of it.
struct MappedColumn {
  std::string sacct;  ///< sacct's name of it; empty: not wanted
  Turn turn = Turn::none;
};

class RowsOfColumns {
 public:
  RowsOfColumns(const std::vector<MappedColumn>& columns, TimeZone zone, std::string cluster);

  /// The job's id as the log prints it, of fields in their order; "" where there is none.
  std::string_view job_id(std::span<const std::string_view> fields) const;
  /// Reads one record into a row, as Reader::parse does.
  bool parse(std::span<const std::string_view> fields, Arena& arena, Rows& rows, std::string& reason) const;
  FieldSet fields() const { return reader_->fields(); }
  std::string describe() const { return reader_->describe(); }

 private:
  std::vector<MappedColumn> columns_;
  std::vector<std::size_t> wanted_;  // columns that go to the reader, in its order
  std::size_t job_column_;
  std::unique_ptr<sacct::SacctReader> reader_;
};

}  // namespace sickbay::workload
