// SPDX-License-Identifier: Apache-2.0
#include "adapters/duckdb/session.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

#include "adapters/duckdb/errors.h"
#include "adapters/duckdb/result_reader.h"
#include "adapters/duckdb/select_check.h"

namespace sickbay::duck {
namespace {

// One handle of DuckDB's, given back at the end of its scope.
template <class T>
class Owned {
 public:
  explicit Owned(void (*destroy)(T*), T first = {}) : handle(first), destroy_(destroy) {}
  Owned(const Owned&) = delete;
  ~Owned() { destroy_(&handle); }
  T handle;

 private:
  void (*destroy_)(T*);
};

// The words for messages, by number; what one writes, where that has one name.
constexpr std::string_view kStatementNames[] = {"nothing",
                                                "SELECT",
                                                "INSERT",
                                                "UPDATE",
                                                "EXPLAIN",
                                                "DELETE",
                                                "PREPARE",
                                                "CREATE",
                                                "EXECUTE",
                                                "ALTER",
                                                "BEGIN, COMMIT or ROLLBACK",
                                                "COPY",
                                                "ANALYZE",
                                                "SET VARIABLE",
                                                "CREATE FUNCTION",
                                                "DROP",
                                                "EXPORT",
                                                "PRAGMA",
                                                "VACUUM",
                                                "CALL",
                                                "SET",
                                                "LOAD or INSTALL",
                                                "a relation",
                                                "an extension's statement",
                                                "a plan",
                                                "ATTACH",
                                                "DETACH",
                                                "several statements"};

std::string_view statement_name(duckdb_statement_type type) {
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kStatementNames) ? kStatementNames[i] : "an unknown statement";
}

Error only_select(std::string found) {
  return Error(ErrorCode::bad_input, "only one SELECT may stand here")
      .because(std::move(found))
      .remedied_by("write one SELECT (or WITH ... SELECT, FROM ..., VALUES ...)");
}

}  // namespace

std::optional<Error> SharedDatabase::take_source_error() {
  const std::lock_guard lock(mutex);
  for (const auto& source : sources)
    if (auto error = source->take_error()) return error;
  return std::nullopt;
}

Error Session::error_of(const char* message) {
  if (auto error = database->take_source_error()) return std::move(*error);
  return statement_error(message ? message : "unknown error");
}

Status Session::bind(duckdb_prepared_statement statement, const std::vector<Value>& parameters) {
  const idx_t wanted = lib.duckdb_nparams(statement);
  if (wanted > 0 && wanted != parameters.size())
    return fail(ErrorCode::bad_input,
                fmt::format("the SQL has {} parameters, and {} are given", wanted, parameters.size()));
  for (idx_t i = 0; i < wanted; ++i) {
    const Value& value = parameters[i];
    duckdb_state bound = DuckDBError;
    if (const auto* text = std::get_if<std::string>(&value))
      bound = lib.duckdb_bind_varchar_length(statement, i + 1, text->data(), text->size());
    else if (const auto* integer = std::get_if<std::int64_t>(&value))
      bound = lib.duckdb_bind_int64(statement, i + 1, *integer);
    else if (const auto* real = std::get_if<double>(&value))
      bound = lib.duckdb_bind_double(statement, i + 1, *real);
    else if (const auto* truth = std::get_if<bool>(&value))
      bound = lib.duckdb_bind_boolean(statement, i + 1, *truth);
    else
      bound = lib.duckdb_bind_null(statement, i + 1);
    if (bound != DuckDBSuccess)
      return fail(ErrorCode::bad_input, fmt::format("parameter {} cannot be given to the SQL", i + 1));
  }
  return {};
}

Status Session::give(duckdb_result& result, const Head& head, const Row& row) {
  std::vector<ResultColumn> columns;
  std::vector<TypeTree> types;
  for (idx_t i = 0; i < lib.duckdb_column_count(&result); ++i) {
    const char* name = lib.duckdb_column_name(&result, i);
    Owned<duckdb_logical_type> logical(lib.duckdb_destroy_logical_type,
                                       lib.duckdb_column_logical_type(&result, i));
    auto type = TypeTree::of(logical.handle);
    if (!type)
      return fail(std::move(type.error()).in(fmt::format("reading the column {}", name ? name : "")));
    columns.push_back({name ? name : "", type->shown()});
    types.push_back(std::move(*type));
  }
  if (head) head(columns);
  if (!row) return {};
  std::vector<duckdb_vector> vectors(columns.size());
  std::vector<Value> values;
  for (;;) {
    Owned<duckdb_data_chunk> chunk(lib.duckdb_destroy_data_chunk, lib.duckdb_fetch_chunk(result));
    if (chunk.handle == nullptr) {  // the end, or an error while rows were made
      const char* why = lib.duckdb_result_error(&result);
      if (why != nullptr && *why != '\0') return fail(error_of(why));
      return {};
    }
    const idx_t rows = lib.duckdb_data_chunk_get_size(chunk.handle);
    for (std::size_t i = 0; i < vectors.size(); ++i)
      vectors[i] = lib.duckdb_data_chunk_get_vector(chunk.handle, i);
    for (idx_t r = 0; r < rows; ++r) {
      values.resize(columns.size());  // `row` may have taken them
      for (std::size_t i = 0; i < vectors.size(); ++i) values[i] = value_at(types[i], vectors[i], r);
      if (!row(values)) return {};
    }
  }
}

Status Session::run(std::string_view sql, const std::vector<Value>& parameters, Allowed allowed,
                    bool streamed, const Head& head, const Row& row) {
  // It would end where C sees its end, and the rest go unseen.
  if (sql.find('\0') != sql.npos) return fail(ErrorCode::bad_input, "the SQL holds a NUL byte");
  database->take_source_error();  // one of a query before, whose result nobody read to its end
  Owned<duckdb_extracted_statements> statements(lib.duckdb_destroy_extracted);
  const idx_t count = lib.duckdb_extract_statements(handle, std::string(sql).c_str(), &statements.handle);
  if (count == 0) {
    const char* why = lib.duckdb_extract_statements_error(statements.handle);
    if (why != nullptr && *why != '\0') return fail(statement_error(why));
  }
  SelectCheck check;
  if (allowed == Allowed::one_select) {
    if (count != 1) return fail(only_select(fmt::format("there are {} statements", count)));
    auto checked = check_select(*this, sql);
    if (!checked) return fail(std::move(checked.error()));
    check = std::move(*checked);
    if (!check.refused.empty())
      return fail(
          Error(ErrorCode::bad_input,
                fmt::format("the table function '{}' may not be called here", check.refused))
              .because("only functions that are known to do nothing but read may")
              .remedied_by(
                  "read the tables of the store; range, unnest, json_each and duckdb_columns are allowed"));
  }

  // Each is prepared when its time comes: it may speak of what the one before it makes.
  for (idx_t i = 0; i < count; ++i) {
    Owned<duckdb_prepared_statement> statement(lib.duckdb_destroy_prepare);
    if (lib.duckdb_prepare_extracted_statement(handle, statements.handle, i, &statement.handle) !=
        DuckDBSuccess)
      return fail(error_of(lib.duckdb_prepare_error(statement.handle)));
    if (allowed == Allowed::one_select) {
      const auto type = lib.duckdb_prepared_statement_type(statement.handle);
      if (type != DUCKDB_STATEMENT_TYPE_SELECT)
        return fail(only_select(fmt::format("this is {}", statement_name(type))));
      if (!check.is_select) return fail(only_select("this becomes one only by way of a PRAGMA or PIVOT"));
    }
    if (Status bound = bind(statement.handle, parameters); !bound) return bound;

    const bool last = i + 1 == count;
    Owned<duckdb_result> result(lib.duckdb_destroy_result);
    duckdb_state done = DuckDBError;
    if (streamed && last) {
      Owned<duckdb_pending_result> pending(lib.duckdb_destroy_pending);
      if (lib.duckdb_pending_prepared_streaming(statement.handle, &pending.handle) != DuckDBSuccess)
        return fail(error_of(lib.duckdb_pending_error(pending.handle)));
      done = lib.duckdb_execute_pending(pending.handle, &result.handle);
    } else {
      done = lib.duckdb_execute_prepared(statement.handle, &result.handle);
    }
    if (done != DuckDBSuccess) return fail(error_of(lib.duckdb_result_error(&result.handle)));
    if (last && lib.duckdb_result_return_type(result.handle) != DUCKDB_RESULT_TYPE_NOTHING)
      return give(result.handle, head, row);
  }
  return {};
}

}  // namespace sickbay::duck
