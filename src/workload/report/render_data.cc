// SPDX-License-Identifier: Apache-2.0
// The document as data, with the values as the SQL gave them: CSV (RFC 4180, but with "\n") and JSON.
#include <fmt/format.h>

#include <cmath>

#include "base/csv.h"
#include "base/json.h"
#include "workload/report/count_rules.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

std::string_view type_name(duck::Type type) {
  switch (type) {
    case duck::Type::text:
      return "text";
    case duck::Type::integer:
      return "integer";
    case duck::Type::real:
      return "real";
    case duck::Type::boolean:
      return "boolean";
    case duck::Type::time:
      return "time";
  }
  return "text";
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::made:
      return "made";
    case Outcome::left_out:
      return "left_out";
    case Outcome::failed:
      return "failed";
    case Outcome::empty:
      return "empty";
  }
  return "failed";
}

// Local time of the report, so without a zone: "2021-05-01T10:00:00".
std::string local_time(std::int64_t micros) {
  std::string text = format_time(from_micros(micros));
  text.pop_back();
  return text;
}

Json json_of(const duck::Value& value, duck::Type type) {
  if (const auto* text = std::get_if<std::string>(&value)) return Json(*text);
  if (const auto* yes = std::get_if<bool>(&value)) return Json(*yes);
  if (const auto* real = std::get_if<double>(&value)) return std::isfinite(*real) ? Json(*real) : Json();
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return type == duck::Type::time ? Json(local_time(*number)) : Json(*number);
  return {};
}

void append_csv(std::string& line, const duck::Value& value, duck::Type type) {
  if (duck::is_null(value)) return;
  if (const auto* text = std::get_if<std::string>(&value)) {
    // A spreadsheet takes such a text for a formula; the page's own CSV does the same (page.js, csvCell).
    const bool formula =
        !text->empty() && std::string_view("=+-@\t\r").find(text->front()) != std::string_view::npos;
    return append_csv_text(line, formula ? "'" + *text : *text);
  }
  const Json json = json_of(value, type);
  if (!json.is_null()) line += json.is_string() ? json.as_string() : json.dump();
}

std::string csv_table(const duck::ResultTable& table) {
  std::string text;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (c > 0) text += ',';
    append_csv_text(text, table.columns[c].name);
  }
  text += "\n";
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) text += ',';
      append_csv(text, row[c], table.columns[c].type);
    }
    text += "\n";
  }
  return text;
}

// A comment line must stay one line.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

std::string render_csv(const Document& document) {
  std::string text;
  for (const ReportResult& result : document.results) {
    if (!text.empty()) text += "\n";
    text += one_line(fmt::format("# {}: {}", result.spec.id(), result.spec.title)) + "\n";
    if (result.outcome == Outcome::made || result.outcome == Outcome::empty)
      text += csv_table(result.table);
    else
      text += one_line(fmt::format("# {}: {}", outcome_name(result.outcome), result.why)) + "\n";
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> render_csv_files(const Document& document) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const ReportResult& result : document.results)
    if (result.outcome == Outcome::made || result.outcome == Outcome::empty)
      files.emplace_back(result.spec.id() + ".csv", csv_table(result.table));
  return files;
}

std::string render_json(const Document& document) {
  Json facts = Json::array(), reports = Json::array(), plugins = Json::array();
  for (const auto& [name, value] : document.facts)
    facts.push(Json::object({{"name", name}, {"value", value}}));
  for (const Plugin& plugin : document.plugins)
    plugins.push(Json::object({{"name", plugin.name},
                               {"title", plugin.title},
                               {"help", plugin.help},
                               {"chapter", plugin.chapter}}));
  for (const ReportResult& result : document.results) {
    Json one = Json::object(
        {{"id", result.spec.id()}, {"title", result.spec.title}, {"outcome", outcome_name(result.outcome)}});
    if (!result.why.empty()) one.set("why", result.why);
    one.set("note", result.spec.note);
    if (!result.spec.counts.empty()) one.set("counts", counts_text(document, result.spec));
    if (!result.spec.left_out.empty()) one.set("left_out", result.spec.left_out);
    Json chart = Json::object({{"kind", result.spec.chart.kind}});
    for (const auto& [name, value] : result.spec.chart.options) chart.set(name, value);
    one.set("chart", std::move(chart));
    Json parameters = Json::object();
    for (const Parameter& parameter : result.spec.parameters) parameters.set(parameter.name, parameter.value);
    if (parameters.size() > 0) one.set("parameters", std::move(parameters));
    Json columns = Json::array(), rows = Json::array();
    for (const auto& column : result.table.columns) {
      Json c = Json::object({{"name", column.name}, {"type", type_name(column.type)}});
      if (const auto unit = result.spec.units.find(column.name); unit != result.spec.units.end())
        c.set("unit", unit->second);
      columns.push(std::move(c));
    }
    for (const auto& row : result.table.rows) {
      Json values = Json::array();
      for (std::size_t c = 0; c < row.size(); ++c) values.push(json_of(row[c], result.table.columns[c].type));
      rows.push(std::move(values));
    }
    one.set("columns", std::move(columns));
    one.set("rows", std::move(rows));
    one.set("milliseconds", std::round(result.milliseconds * 10) / 10);
    reports.push(std::move(one));
  }
  return Json::object({{"title", document.title},
                       {"language", document.language},
                       {"made_at", document.made_at},
                       {"version", document.version},
                       {"facts", std::move(facts)},
                       {"plugins", std::move(plugins)},
                       {"reports", std::move(reports)}})
             .pretty() +
         "\n";
}

}  // namespace sickbay::workload
