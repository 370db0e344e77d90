// SPDX-License-Identifier: Apache-2.0
#include "workload/store/schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/store/store.h"

namespace sickbay::workload {
namespace {

// Those that the store has of jobs, or the others.
std::vector<JobColumn> make_columns(bool of_jobs) {
  std::vector<JobColumn> columns;
  for (const TextField& f : kTextFields) {
    if ((f.column != Column::no) != of_jobs) continue;
    JobColumn c;
    c.name = f.name;
    c.text = f.field;
    columns.push_back(c);
  }
  for (const NumField& f : kNumFields) {
    if ((f.column != Column::no) != of_jobs) continue;
    JobColumn c;
    c.name = f.name;
    c.is_text = false;
    c.num = f.field;
    c.unit = f.unit;
    c.type = f.unit == Unit::time ? duck::Type::time : duck::Type::integer;
    columns.push_back(c);
  }
  return columns;
}

std::string_view sql_type(duck::Type type) {
  switch (type) {
    case duck::Type::text:
      return "VARCHAR";
    case duck::Type::integer:
      return "BIGINT";
    case duck::Type::real:
      return "DOUBLE";
    case duck::Type::boolean:
      return "BOOLEAN";
    case duck::Type::time:
      return "TIMESTAMP";
  }
  return "VARCHAR";
}

// Texts that mostly say the same in all jobs or in many; the others differ from job to job.
bool has_few_values(const JobColumn& c) {
  switch (c.text) {
    case Text::job_id:
    case Text::job_name:
    case Text::node_list:
    case Text::work_dir:
    case Text::submit_line:
    case Text::comment:
      return false;
    default:
      return c.is_text;
  }
}

// The tables beside `jobs`.  No constraint makes an index: an index of 10 million jobs would not fit into the
// memory that an import may take, and the import sees to uniqueness by itself.
constexpr std::string_view kOtherTables = R"(
CREATE TABLE imports(
  content_hash VARCHAR, source VARCHAR, format VARCHAR, imported_at TIMESTAMP,
  bytes BIGINT, lines BIGINT, records BIGINT, rejected BIGINT, notes VARCHAR);
CREATE TABLE rejects(content_hash VARCHAR, source VARCHAR, reason VARCHAR, records BIGINT, first_line BIGINT);
CREATE TABLE node_events(
  node VARCHAR, state VARCHAR, begins TIMESTAMP, ends TIMESTAMP, cpus BIGINT, reason VARCHAR, cluster VARCHAR);
CREATE TABLE nodes(
  node VARCHAR, cpus BIGINT, memory BIGINT, gpus BIGINT, partitions VARCHAR, cluster VARCHAR, valid_from TIMESTAMP);
CREATE TABLE meta(name VARCHAR, value VARCHAR);
)";

std::string columns_sql(std::span<const JobColumn> columns, bool compressed) {
  std::string sql;
  for (const JobColumn& c : columns)
    sql += fmt::format("{}\n  {} {}{}", sql.empty() ? "" : ",", c.name, sql_type(c.type),
                       !compressed && has_few_values(c) ? " USING COMPRESSION dictionary" : "");
  return sql;
}

std::string table_sql(std::string_view name, std::span<const JobColumn> columns, bool compressed) {
  return fmt::format("CREATE TABLE {}({});\n", name, columns_sql(columns, compressed));
}

}  // namespace

std::span<const JobColumn> job_columns() {
  static const std::vector<JobColumn> columns = make_columns(true);
  return columns;
}

std::span<const JobColumn> record_columns() {
  static const std::vector<JobColumn> columns = [] {
    std::vector<JobColumn> all = make_columns(true);
    for (const JobColumn& c : make_columns(false)) all.push_back(c);
    return all;
  }();
  return columns;
}

std::string column_names(std::span<const JobColumn> columns, std::string_view table) {
  std::string names;
  for (const JobColumn& c : columns)
    names += fmt::format("{}{}{}{}", names.empty() ? "" : ", ", table, table.empty() ? "" : ".", c.name);
  return names;
}

std::string run_records_sql() {
  return fmt::format("CREATE TABLE IF NOT EXISTS run_records({},\n  row_kind BIGINT);\n",
                     columns_sql(record_columns(), true));
}

std::vector<JobColumn> job_columns(const FieldSet& fields) {
  std::vector<JobColumn> some;
  for (const JobColumn& c : job_columns())
    if (c.is_text ? fields.has(c.text) : fields.has(c.num)) some.push_back(c);
  return some;
}

std::string schema_sql(bool scratch) {
  return (scratch ? std::string() : table_sql("jobs", job_columns(), true)) + std::string(kOtherTables) +
         std::string(kJobCostTables) + run_records_sql() +
         fmt::format("INSERT INTO meta VALUES ('store_version', '{}');\n", kStoreVersion);
}

std::string raise_sql(int version) {
  std::string sql;
  if (version < 2)
    sql +=
        "ALTER TABLE node_events ADD COLUMN cluster VARCHAR; ALTER TABLE nodes ADD COLUMN cluster VARCHAR;"
        "ALTER TABLE nodes ADD COLUMN valid_from TIMESTAMP;";
  if (version < 3) sql += run_records_sql();
  return sql + fmt::format("UPDATE meta SET value = '{}' WHERE name = 'store_version';", kStoreVersion);
}

Result<std::string> shown_as_raised_sql(duck::Connection& connection) {
  auto told =
      connection.query("SELECT value::BIGINT, current_database() FROM meta WHERE name = 'store_version'");
  if (!told) return fail(std::move(told.error()));
  if (told->rows.empty()) return std::string();
  const auto* version = std::get_if<std::int64_t>(&told->rows[0][0]);
  const auto* name = std::get_if<std::string>(&told->rows[0][1]);
  if (version == nullptr || name == nullptr || *version >= 2) return std::string();
  std::string database = "\"";
  for (const char c : *name) database += c == '"' ? std::string("\"\"") : std::string(1, c);
  database += "\".main";  // the views hide the tables under their own names
  return fmt::format(
      "CREATE OR REPLACE TEMP VIEW node_events AS SELECT *, NULL::VARCHAR AS cluster FROM {0}.node_events;\n"
      "CREATE OR REPLACE TEMP VIEW nodes AS SELECT *, NULL::VARCHAR AS cluster, NULL::TIMESTAMP AS "
      "valid_from "
      "FROM {0}.nodes;\n",
      database);
}

std::string scratch_jobs_sql(std::span<const JobColumn> columns, bool compressed) {
  std::string all;
  for (const JobColumn& c : job_columns()) {
    const bool there =
        std::any_of(columns.begin(), columns.end(), [&](const JobColumn& has) { return has.name == c.name; });
    const std::string value =
        there ? fmt::format("\"{}\"", c.name) : fmt::format("NULL::{}", sql_type(c.type));
    all += fmt::format("{}{} AS \"{}\"", all.empty() ? "" : ", ", value, c.name);
  }
  return table_sql(kScratchJobs, columns, compressed) +
         fmt::format("CREATE VIEW jobs AS SELECT {} FROM {};\n", all, kScratchJobs);
}

}  // namespace sickbay::workload
