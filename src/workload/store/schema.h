// SPDX-License-Identifier: Apache-2.0
// The columns of the store's table `jobs`, made from fields.h: the one order in which they are created,
// written by the import and read back.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/duckdb/database.h"
#include "workload/job/row.h"

namespace sickbay::workload {

struct JobColumn {
  std::string_view name;
  bool is_text = true;
  Num num{};                ///< unless is_text
  Text text{};              ///< where is_text
  Unit unit = Unit::count;  ///< unless is_text
  duck::Type type = duck::Type::text;
};

/// Texts first (job_id begins), then numbers, both in the order of fields.h.
std::span<const JobColumn> job_columns();
/// Those of them that are among `fields`.
std::vector<JobColumn> job_columns(const FieldSet& fields);

/// job_columns(), and behind them the fields that only records have: all that a row can say.
std::span<const JobColumn> record_columns();
/// Their names with commas between; with `table`, each as "table.name".
std::string column_names(std::span<const JobColumn> columns, std::string_view table = {});

/// The table of the records that are kept (merge/records.h), where it is not there yet: record_columns(), and
/// row_kind, the number of their RowKind.
std::string run_records_sql();

/// The tables of what failures and checkpoints cost jobs, where they are not there yet: stores of before have
/// none.  (Times in UTC.)
inline constexpr std::string_view kJobCostTables = R"(
CREATE TABLE IF NOT EXISTS job_failures(
  cluster VARCHAR, job_id_raw BIGINT, restart BIGINT, state VARCHAR, failed_at TIMESTAMP, ran_ms BIGINT, checkpoint BIGINT, gone_on BOOLEAN,
  recomputed_ms BIGINT, without_ms BIGINT);
CREATE TABLE IF NOT EXISTS job_checkpoints(
  cluster VARCHAR, job_id_raw BIGINT, restart BIGINT, checkpoint BIGINT, taken_at TIMESTAMP, took_ms BIGINT);
)";

/// Statements that make a store of this Sickbay out of one of an older version.  New columns come last, so
/// that a raised table is like a new one.
std::string raise_sql(int version);
/// The same for one that is only read, on one connection to it: temporary views with the names of its tables;
/// empty where it needs none.
Result<std::string> shown_as_raised_sql(duck::Connection& connection);

/// `user` is a word of DuckDB's: where no column has that name, it gives who asks DuckDB, "duckdb" for all,
/// and a question for jobs by user has one wrong line.  With this, which a connection needs that others' SQL
/// runs on, it is an error that names the column.
inline constexpr std::string_view kUserIsNoColumn =
    "CREATE OR REPLACE TEMP MACRO \"user\"() AS "
    "error('there is no column \"user\": the user of a job is user_name');\n";

/// CREATE TABLE statements of a store, from fields.h.  `scratch`: without jobs (StoreOptions).
std::string schema_sql(bool scratch);
/// Those of a scratch store's jobs: a table with `columns`, and the view `jobs` over it with all columns.
std::string scratch_jobs_sql(std::span<const JobColumn> columns, bool compressed);
/// The name of that table.
inline constexpr std::string_view kScratchJobs = "scratch_jobs";

}  // namespace sickbay::workload
