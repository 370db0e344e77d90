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
  if (std::any_of(std::begin(kReadOnly), std::end(kReadOnly),
                  [&](std::string_view known) { return equal_ignoring_case(known, function); }))
    return true;
  const std::lock_guard lock(session.database->mutex);
  return std::any_of(
      session.database->sources.begin(), session.database->sources.end(),
      [&](const auto& source) { return equal_ignoring_case(source->source().name, function); });
}

}  // namespace

Result<SelectCheck> check_select(Session& session, std::string_view sql) {
  std::string tree;
  Status asked = session.run("SELECT json_serialize_sql(CAST($1 AS VARCHAR))", {std::string(sql)},
                             Session::Allowed::anything, false, {}, [&](std::vector<Value>& row) {
                               if (auto* text = std::get_if<std::string>(&row.at(0))) tree = std::move(*text);
                               return false;
                             });
  if (!asked) {
    Error error(ErrorCode::internal, "DuckDB cannot say what the SQL does");
    return fail(std::move(error).because(asked.error().line() + ": " + asked.error().cause));
  }
  // The text is searched as it is, which takes less time than reading it: a text of the SQL cannot look like
  // one of these keys, for its quotes are escaped.  A table function is a node with a member "function",
  // whose own first members are class, type, alias, query_location and function_name; no other node has one.
  SelectCheck check;
  check.is_select = std::string_view(tree).starts_with(R"({"error":false,)");
  constexpr std::string_view kNode = R"("function":{)", kName = R"("function_name":")";
  for (std::size_t at = 0; check.refused.empty() && (at = tree.find(kNode, at)) != tree.npos;) {
    at = tree.find(kName, at);
    if (at == tree.npos) return fail(ErrorCode::internal, "DuckDB's parse of the SQL has an unknown form");
    at += kName.size();
    const std::string_view name = std::string_view(tree).substr(at, tree.find('"', at) - at);
    if (!reads_only(session, name)) check.refused = name;
  }
  return check;
}

}  // namespace sickbay::duck
