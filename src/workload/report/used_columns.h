// SPDX-License-Identifier: Apache-2.0
// Which columns of j and j2 a report's SQL may look at, so that its views hold no others.
//
// Told from DuckDB's own parse of the SQL: every name in it that a column of j has counts, whatever it is the
// name of, so that the answer may hold too many, and never too few.  What speaks of columns without their
// names (SELECT * over j, whole rows, NATURAL JOIN, SUMMARIZE, ...) wants all.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "adapters/duckdb/database.h"

namespace sickbay::workload {

/// Nothing: all columns, also where the SQL cannot be parsed (whoever runs it says why).
std::optional<std::set<std::string>> used_columns(duck::Connection& connection, const std::string& sql);

}  // namespace sickbay::workload
