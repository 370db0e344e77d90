// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/select_check.h"

#include <algorithm>
#include <string_view>

#include "adapters/duckdb/session.h"
#include "base/text.h"

namespace sickbay::duck {
namespace {

// DuckDB's table functions that make or list something and do nothing else; files are closed by the sandbox.
constexpr std::string_view kReadOnly[] = {
    "duckdb_columns",
    "duckdb_constraints",
    "duckdb_databases",
    "duckdb_dependencies",
    "duckdb_extensions",
    "duckdb_functions",
    "duckdb_indexes",
    "duckdb_keywords",
    "duckdb_memory",
    "duckdb_schemas",
    "duckdb_sequences",
    "duckdb_settings",
    "duckdb_tables",
    "duckdb_types",
    "duckdb_variables",
    "duckdb_views",
    "generate_series",
    "histogram",
    "histogram_values",
    "icu_calendar_names",
    "json_each",
    "json_tree",
    "pg_timezone_names",
    "pragma_collations",
    "pragma_database_size",
    "pragma_platform",
    "pragma_show",
    "pragma_storage_info",
    "pragma_table_info",
    "pragma_version",
    "range",
    "repeat",
    "repeat_row",
    "summary",
    "unnest",
};

bool reads_only(Session& session, std::string_view function) {
  if (std::find(std::begin(kReadOnly), std::end(kReadOnly), function) != std::end(kReadOnly)) return true;
  const std::lock_guard lock(session.database->mutex);
  return std::any_of(
      session.database->sources.begin(), session.database->sources.end(),
      [&](const auto& source) { return equal_ignoring_case(source->source().name, function); });
}

}  // namespace

Result<SelectCheck> check_select(Session& session, std::string_view sql) {
  // A table function is a node with a member "function"; nothing else has one, and no text of the SQL becomes
  // a key.  "error" is there for what is no SELECT.
  constexpr std::string_view kAsk =
      "WITH p AS MATERIALIZED (SELECT json_serialize_sql(CAST($1 AS VARCHAR)) AS j) "
      "SELECT coalesce(json_array_length(j, '$.statements'), 0), NULL FROM p UNION ALL "
      "SELECT NULL, lower(unnest(json_extract_string(j, '$..function.function_name'))) FROM p";
  SelectCheck check;
  Status asked = session.run(kAsk, {std::string(sql)}, Session::Allowed::anything, false, {},
                             [&](std::vector<Value>& row) {
                               if (const auto* count = std::get_if<std::int64_t>(&row[0]))
                                 check.is_select = *count == 1;
                               else if (const auto* name = std::get_if<std::string>(&row[1]);
                                        name && check.refused.empty() && !reads_only(session, *name))
                                 check.refused = *name;
                               return true;
                             });
  if (!asked) {
    Error error(ErrorCode::internal, "DuckDB cannot say what the SQL does");
    return fail(std::move(error).because(asked.error().line() + ": " + asked.error().cause));
  }
  return check;
}

}  // namespace sickbay::duck
