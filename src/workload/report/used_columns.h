// SPDX-License-Identifier: Apache-2.0
// Which of the views of jobs (j, j2, j_all) and which of their columns a report's SQL may look at, so that
// nothing else is made for it: DuckDB plans what a view holds each time the view is made or named.
//
// Told from DuckDB's own parse of the SQL: every name in it that a column of j has counts, whatever it is the
// name of, so that the answer may hold too many, and never too few.  What speaks of columns without their
// names (SELECT * over j, whole rows, NATURAL JOIN, SUMMARIZE, ...) wants all.
#pragma once
#include <optional>
#include <string>

#include "adapters/duckdb/database.h"
#include "workload/report/views.h"

namespace sickbay::workload {

/// Nothing: all of them, also where the SQL cannot be parsed (whoever runs it says why).
std::optional<UsedOfJobs> used_columns(duck::Connection& connection, const std::string& sql);

}  // namespace sickbay::workload
