// SPDX-License-Identifier: Apache-2.0
// Jobs into the columns of the store's table, and records into those of the table of kept ones.
#pragma once
#include <optional>
#include <vector>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/job/row.h"
#include "workload/store/schema.h"

namespace sickbay::workload {

class RowWriter {
 public:
  /// Into the columns of `fields`.
  explicit RowWriter(const FieldSet& fields);
  /// Into record_columns() and row_kind, the columns of run_records.
  static RowWriter of_records();

  /// In their order, that of a RowSource of jobs.
  const std::vector<JobColumn>& columns() const { return columns_; }
  std::vector<duck::ResultColumn> source_columns() const;
  /// Writes one row.  An empty text is none.  Errors: internal where the job has what another column of the
  /// store holds, which would be lost.  of_records(): `record` tells a record from a job, which has no
  /// row_kind.
  Status write(const Row& job, duck::ChunkWriter& chunk, std::optional<RowKind> record = {}) const;

 private:
  RowWriter() = default;
  Error lost(const Row& job) const;

  std::vector<JobColumn> columns_;
  FieldSet others_;  // of the store's other columns
  bool kinds_ = false;
};

}  // namespace sickbay::workload
