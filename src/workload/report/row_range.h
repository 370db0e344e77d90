// SPDX-License-Identifier: Apache-2.0
// Where in the table the jobs of a period stand.
//
// A store that grows day by day has its jobs nearly in the order of their ends, but which of them have
// something in a period is asked of several columns at once, and of such a condition DuckDB knows no block
// that it may leave out: each report of a month would read the times of all years.  So they are read once,
// for the numbers of the rows that count, by which it leaves blocks out.
#pragma once
#include "adapters/duckdb/database.h"
#include "workload/report/views.h"

namespace sickbay::workload {

/// Finds the rows of both periods of `order`, which is then good for this store as long as nobody writes to
/// it. Leaves out what would save little, and stores whose jobs are no table (that of one log).
/// Errors: what the store has.
Status find_rows(duck::Connection& connection, ViewOrder& order);

}  // namespace sickbay::workload
