// SPDX-License-Identifier: Apache-2.0
// What a report's SQL sees: j, j2, j_all, runs, period, period2, users, accounts and coverage, made as
// temporary views over the store.
//
// j, j2 and j_all are plain views: a SELECT pays only for the columns that it names.  All of it is SQL text,
// so that executables and anyone's DuckDB can have the same views (doc/formats/report.md, "What SQL may
// use").
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/job/time_zone.h"
#include "workload/report/report.h"
#include "workload/report/site.h"

namespace sickbay::workload {

/// A column of j that jobs does not have.
struct DerivedColumn {
  std::string_view name, meaning;
};
std::span<const DerivedColumn> derived_columns();
/// The columns of jobs.
std::vector<std::string> stored_columns();
/// All columns of j: those of jobs, then the derived ones.
const std::vector<std::string>& j_columns();

/// The second period of a comparison.
struct Period {
  TimePoint from, to;
};

/// Numbers of rows of the table `jobs`; last < first: none.
struct RowRange {
  std::int64_t first = 0, last = -1;
};

/// Where the jobs of a period stand in the table `jobs` (row_range.h).
struct Stand {
  std::vector<RowRange> rows;  ///< empty: anywhere, and nothing else is said
  /// The least and the greatest of their ends, where each has one.
  std::optional<std::pair<TimePoint, TimePoint>> ends;
  /// The same of their job_id_raw, of those that have one.
  std::optional<std::pair<std::int64_t, std::int64_t>> ids;
};

struct ViewOrder {
  Filter filter;
  std::optional<Period> compare;
  Site site;
  /// TimeZone::changes() of the report's zone; empty: UTC.
  std::vector<TimeZone::Change> zone;
  Stand stand, compare_stand;  ///< of the period, and of the one to compare with
};

/// Statements that make the views on a connection to a store.  Reads from `connection` only which times it
/// holds, for the period where the filter gives none, and for the changes of the zone that matter.
Result<std::string> views_sql(duck::Connection& connection, const ViewOrder& order);

/// The SELECT of j, with the columns of `wanted` only; nullptr: with all.  Its macros are those of
/// views_sql().
std::string job_select_sql(const ViewOrder& order, const std::set<std::string>* wanted);

/// What a SELECT names of the views of jobs.
struct UsedOfJobs {
  std::set<std::string> columns;
  std::set<std::string> views;  ///< of j, j2 and j_all
};
/// Statements that make those of `used` anew, with its columns; nullptr: all three with all.  A view of a few
/// columns is planned in a fraction of the time.
std::string job_views_sql(const ViewOrder& order, const UsedOfJobs* used);

/// One sentence for each value of the filter that no job of the store has, with the one that was meant.
Result<std::vector<std::string>> unknown_filter_values(duck::Connection& connection, const Filter& filter);

/// "users a, b; partitions cpu; at least 64 cores": empty where the filter asks for none of it.
std::string describe_filter(const Filter& filter);

}  // namespace sickbay::workload
