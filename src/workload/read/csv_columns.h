// SPDX-License-Identifier: Apache-2.0
// The names of a CSV's columns: which of sacct's columns each stands for.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/read/rows_of_columns.h"

namespace sickbay::workload {

/// What a column of that name holds: our own fields (seconds, bytes), sacct's columns in any spelling, and
/// names that dumps of other sites use.  `sacct` is empty for a name that nobody knows.
MappedColumn known_column(std::string_view name);

/// One column that is wanted.
struct CsvColumn {
  std::size_t index = 0;  ///< in the CSV
  MappedColumn mapped;
};

/// The columns of a header: by `map` ({"job_id": "JobId", "time_limit": {"column": "wall", "unit":
/// "minutes"}}), the rest by their names.  Errors: bad_input.
Result<std::vector<CsvColumn>> csv_columns(const std::vector<std::string>& header, std::string_view map);

}  // namespace sickbay::workload
