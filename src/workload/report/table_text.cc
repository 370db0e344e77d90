// SPDX-License-Identifier: Apache-2.0
// The table that an executable plug-in prints: CSV (RFC 4180, with a header) or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/text.h"
#include "workload/report/run.h"

namespace sickbay::workload {
namespace {

using duck::ResultTable;
using duck::Type;
using duck::Value;

struct Cell {
  std::string text;
  bool quoted = false;  // "" is an empty text, nothing between commas is NULL
};
struct CsvRow {
  std::vector<Cell> cells;
  int line = 0;
};

tl::unexpected<Error> wrong(std::string what) {
  return fail(Error(ErrorCode::bad_input, std::move(what))
                  .remedied_by("doc/plugins.md says what an executable prints"));
}

Result<std::vector<CsvRow>> split_csv(std::string_view text) {
  std::vector<CsvRow> rows;
  int line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    CsvRow row;
    row.line = line;
    for (bool more = true; more;) {
      Cell cell;
      if (at < text.size() && text[at] == '"') {
        cell.quoted = true;
        ++at;
        for (;; ++at) {
          if (at >= text.size()) return wrong(fmt::format("line {}: a quote is not closed", row.line));
          if (text[at] == '\n') ++line;
          if (text[at] != '"') {
            cell.text += text[at];
          } else if (at + 1 < text.size() && text[at + 1] == '"') {
            cell.text += text[++at];
          } else {
            ++at;
            break;
          }
        }
        if (at < text.size() && text[at] != ',' && text[at] != '\n' && text[at] != '\r')
          return wrong(fmt::format("line {}: text behind a closing quote", line));
      } else {
        const std::size_t end = std::min(text.find_first_of(",\n", at), text.size());
        cell.text = text.substr(at, end - at);
        if (cell.text.ends_with('\r')) cell.text.pop_back();
        at = end;
      }
      if (at < text.size() && text[at] == '\r') ++at;
      more = at < text.size() && text[at] == ',';
      if (at < text.size()) ++at;  // the comma or the line end
      row.cells.push_back(std::move(cell));
    }
    ++line;
    if (row.cells.size() == 1 && row.cells[0].text.empty() && !row.cells[0].quoted) continue;  // empty line
    rows.push_back(std::move(row));
  }
  return rows;
}

template <class Number>
bool reads_as(std::string_view text, Number& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// "2021-05-01" stays a text, as a DATE of SQL does; "2021-05-01T10:00:00Z" is a time.
bool reads_as_time(const std::string& text, std::int64_t& micros) {
  if (text.size() < 19 || !is_digit(text[0])) return false;
  std::string full = text;
  if (full[10] == ' ') full[10] = 'T';
  if (!full.ends_with('Z')) full += 'Z';
  auto time = parse_time(full);
  if (time) micros = to_micros(*time);
  return time.has_value();
}

// The narrowest type that fits all cells of a column.
Type type_of(const std::vector<CsvRow>& rows, std::size_t column) {
  bool integer = true, real = true, boolean = true, time = true, any = false;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const Cell& cell = rows[i].cells[column];
    if (cell.text.empty() && !cell.quoted) continue;
    any = true;
    std::int64_t whole = 0;
    double number = 0;
    integer = integer && !cell.quoted && reads_as(cell.text, whole);
    real = real && !cell.quoted && reads_as(cell.text, number);
    boolean = boolean && (cell.text == "true" || cell.text == "false");
    time = time && reads_as_time(cell.text, whole);
  }
  if (!any) return Type::text;
  return integer   ? Type::integer
         : real    ? Type::real
         : boolean ? Type::boolean
         : time    ? Type::time
                   : Type::text;
}

Value value_of(const Cell& cell, Type type) {
  if (cell.text.empty() && !cell.quoted) return {};
  std::int64_t whole = 0;
  double number = 0;
  switch (type) {
    case Type::integer:
      reads_as(cell.text, whole);
      return whole;
    case Type::real:
      reads_as(cell.text, number);
      return number;
    case Type::boolean:
      return cell.text == "true";
    case Type::time:
      reads_as_time(cell.text, whole);
      return whole;
    case Type::text:
      break;
  }
  return cell.text;
}

Result<ResultTable> from_csv(std::string_view text) {
  auto rows = split_csv(text);
  if (!rows) return fail(rows.error());
  if (rows->empty()) return wrong("it printed no table, not even a header");
  const CsvRow& header = rows->front();
  for (const CsvRow& row : *rows)
    if (row.cells.size() != header.cells.size())
      return wrong(fmt::format("line {}: {} cells, and the header has {}", row.line, row.cells.size(),
                               header.cells.size()));
  ResultTable table;
  for (std::size_t c = 0; c < header.cells.size(); ++c)
    table.columns.push_back({std::string(trimmed(header.cells[c].text)), type_of(*rows, c)});
  for (std::size_t i = 1; i < rows->size(); ++i) {
    std::vector<Value>& values = table.rows.emplace_back();
    for (std::size_t c = 0; c < header.cells.size(); ++c)
      values.push_back(value_of((*rows)[i].cells[c], table.columns[c].type));
  }
  return table;
}

Type type_of(const Json& value) {
  return value.is_int()      ? Type::integer
         : value.is_number() ? Type::real
         : value.is_bool()   ? Type::boolean
                             : Type::text;
}

Value value_of(const Json& value, Type type) {
  if (value.is_null()) return {};
  if (type == Type::real) return value.as_double();
  if (type == Type::integer) return value.as_int();
  if (type == Type::boolean) return value.as_bool();
  return value.is_string() ? value.as_string() : value.dump();
}

Result<ResultTable> from_json(std::string_view text) {
  auto json = Json::parse(text, {.source = "its output"});
  if (!json) return fail(json.error());
  ResultTable table;
  std::vector<std::vector<const Json*>> cells;
  static const Json none;
  if (json->is_object()) {
    for (const std::string& name : (*json)["columns"].as_strings())
      table.columns.push_back({name, Type::text});
    for (const Json& row : (*json)["rows"].items()) {
      if (row.size() != table.columns.size())
        return wrong(fmt::format("row {} has {} values for {} columns", cells.size() + 1, row.size(),
                                 table.columns.size()));
      auto& values = cells.emplace_back();
      for (const Json& value : row.items()) values.push_back(&value);
    }
  } else {
    // The first row says which columns there are; another may lack some, which are NULL then.
    for (const Json& row : json->items()) {
      if (!row.is_object()) return wrong("a row of the JSON table is no object");
      if (table.columns.empty())
        for (const auto& [name, value] : row.members()) table.columns.push_back({name, Type::text});
      auto& values = cells.emplace_back();
      for (const auto& column : table.columns)
        values.push_back(row.has(column.name) ? &row[column.name] : &none);
    }
  }
  if (table.columns.empty()) return wrong("the JSON table has no columns");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::optional<Type> type;
    for (const auto& row : cells) {
      if (row[c]->is_null()) continue;
      const Type here = type_of(*row[c]);
      if (!type) type = here;
      const auto number = [](Type t) { return t == Type::integer || t == Type::real; };
      if (*type != here) type = number(*type) && number(here) ? Type::real : Type::text;
    }
    table.columns[c].type = type.value_or(Type::text);
  }
  for (const auto& row : cells) {
    std::vector<Value>& values = table.rows.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) values.push_back(value_of(*row[c], table.columns[c].type));
  }
  return table;
}

}  // namespace

Result<duck::ResultTable> parse_table(std::string_view text) {
  const std::string_view body = trimmed(text);
  if (body.starts_with('[') || body.starts_with('{')) return from_json(body);
  return from_csv(text);
}

}  // namespace sickbay::workload
