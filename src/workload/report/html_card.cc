// SPDX-License-Identifier: Apache-2.0
#include "workload/report/html_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/text_table.h"
#include "base/time.h"
#include "workload/report/count_rules.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

using duck::Value;

constexpr std::int64_t kDay = 86'400'000'000;  // microseconds

// "day" or "month" where all times of the column fall on the first moment of one.  (Of one time alone, or of
// a column of days, a first of a month says nothing.)
std::string grain_of(const duck::ResultTable& table, std::size_t column) {
  const std::string& name = table.columns[column].name;
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  std::optional<std::int64_t> before;
  bool firsts_of_months = true, differ = false;
  for (const auto& row : table.rows) {
    const auto* time = std::get_if<std::int64_t>(&row[column]);
    if (!time) continue;
    if (*time % kDay != 0) return "";
    differ = differ || *time != before.value_or(*time);
    before = *time;
    const auto date = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(from_micros(*time)));
    if (date.day() != std::chrono::day(1)) firsts_of_months = false;
  }
  return firsts_of_months && (has("month") || (differ && !has("day"))) ? "month" : "day";
}

// Ten digits that count are more than any chart shows, and a third shorter.
double shortened(double value) { return std::strtod(fmt::format("{:.10g}", value).c_str(), nullptr); }

Json value_for_script(const Value& value, duck::Type type) {
  if (const auto* text = std::get_if<std::string>(&value)) return visible(*text);
  if (const auto* yes = std::get_if<bool>(&value)) return *yes;
  if (const auto* whole = std::get_if<std::int64_t>(&value))
    return type == duck::Type::time ? *whole / 1000 : *whole;
  if (const auto* real = std::get_if<double>(&value)) {
    return std::isfinite(*real) ? Json(shortened(*real)) : Json();
  }
  return {};
}

// The places of the rows that travel as JSON: those of the table, and more where a chart can use them.
std::vector<std::size_t> rows_for_script(const ReportResult& result) {
  const std::string& kind = result.spec.chart.kind;
  const std::size_t total = result.table.rows.size();
  const std::size_t most = kind == "none" || kind == "tiles" ? kTableRows : kChartRows;
  // Of too many points every n-th is as good a picture; the table's rows must be the first ones, in order.
  const std::size_t step =
      kind == "scatter" && total > most ? (total - kTableRows) / (most - kTableRows) + 1 : 1;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < total && places.size() < most; i += i < kTableRows ? 1 : step)
    places.push_back(i);
  return places;
}

// Notes speak of columns by their names in SQL; who reads the page sees the headings.
std::string with_headings(const Document& document, const ReportResult& result, std::string text) {
  const auto part_of_name = [](char c) {
    return c == '_' || is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z');
  };
  for (const duck::ResultColumn& column : result.table.columns) {
    if (column.name.find('_') == column.name.npos) continue;  // a plain word means itself
    const std::string heading = "“" + heading_of(document, result.spec, column) + "”";
    for (std::size_t at = 0; (at = text.find(column.name, at)) != text.npos;) {
      const std::size_t end = at + column.name.size();
      const bool whole =
          (at == 0 || !part_of_name(text[at - 1])) && (end == text.size() || !part_of_name(text[end]));
      if (whole) text.replace(at, column.name.size(), heading);
      at += whole ? heading.size() : 1;
    }
  }
  return text;
}

// What page.js shows in place of the values of a column: {"user": "..."}; the rows keep those of the SQL.
Json words_of(const Document& document, const ReportResult& result, std::size_t column) {
  Json words = Json::object();
  std::set<std::string_view> seen;
  for (const auto& row : result.table.rows) {
    const auto* value = std::get_if<std::string>(&row[column]);
    if (!value || !seen.insert(*value).second) continue;
    const std::string said = word_text(document, result.spec, result.table.columns[column].name, *value);
    if (said != *value) words.set(visible(*value), visible(said));
  }
  return words;
}

Json data_of(const Document& document, const ReportResult& result) {
  const duck::ResultTable& table = result.table;
  Json data = Json::object();
  data.set("id", result.spec.plugin + "." + result.spec.name);
  data.set("title", visible(result.spec.title));
  data.set("kind", result.spec.chart.kind);
  Json options = Json::object();
  for (const auto& [name, value] : result.spec.chart.options) options.set(name, value);
  data.set("options", std::move(options));
  constexpr std::array<std::string_view, 5> kTypes = {"text", "integer", "real", "boolean", "time"};
  Json columns = Json::array(), rows = Json::array();
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const duck::ResultColumn& column = table.columns[c];
    const std::string_view unit = unit_of(result.spec, column.name);
    Json one = Json::object({{"name", visible(column.name)},
                             {"label", visible(heading_of(document, result.spec, column))},
                             {"type", kTypes[static_cast<std::size_t>(column.type)]},
                             {"unit", unit},
                             {"unitText", unit_text(document, unit)}});
    if (column.type == duck::Type::time) one.set("grain", grain_of(table, c));
    if (column.type == duck::Type::text) {
      if (Json words = words_of(document, result, c); words.size() > 0) one.set("words", std::move(words));
      if (const auto order = document.orders.find(column.name); order != document.orders.end()) {
        Json values = Json::array();
        for (const std::string& value : order->second) values.push(visible(value));
        one.set("order", std::move(values));
      }
    }
    columns.push(std::move(one));
  }
  const std::vector<std::size_t> places = rows_for_script(result);
  for (const std::size_t place : places) {
    Json row = Json::array();
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      row.push(value_for_script(table.rows[place][c], table.columns[c].type));
    rows.push(std::move(row));
  }
  data.set("columns", std::move(columns));
  data.set("total", table.rows.size());
  if (places.size() < table.rows.size()) {  // shares of the whole need the whole
    Json sums = Json::object();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      double sum = 0;
      for (const auto& row : table.rows) {
        const double number = number_of(row[c]);
        if (std::isfinite(number)) sum += number;
      }
      if (is_figure(table.columns[c])) sums.set(std::to_string(c), shortened(sum));
    }
    data.set("sums", std::move(sums));
  }
  data.set("rows", std::move(rows));
  return data;
}

// --- big figures

struct Tile {
  std::string name, figure, unit, more;
  double share = NAN;  ///< of 100, for a meter
};

std::string tile_html(const Tile& tile) {
  const int width = display_width(tile.figure);
  std::string html = "<li><span class=\"name\">" + escaped(tile.name) + "</span>";
  html += fmt::format("<span class=\"figure{}\">{}",
                      width > 13  ? " long"
                      : width > 9 ? " mid"
                                  : "",
                      tile.figure.empty() ? "–" : escaped(tile.figure));
  if (!tile.unit.empty() && !tile.figure.empty())
    html += " <span class=\"unit\">" + escaped(tile.unit) + "</span>";
  html += "</span>";
  if (tile.share >= 0 && tile.share <= 100)
    html += fmt::format("<span class=\"meter\"><i style=\"width:{:.1f}%\"></i></span>", tile.share);
  if (!tile.more.empty()) html += "<span class=\"more\">" + escaped(tile.more) + "</span>";
  return html + "</li>\n";
}

Tile tile_of(const Document& document, std::string name, const Value& value, duck::Type type,
             std::string_view unit) {
  std::string its = unit_text(document, unit);
  const bool seconds = unit == "s" && std::isfinite(number_of(value));
  // "Jobs: 1,200 jobs" says it twice.
  if (seconds || unit == "count" || unit == "ratio" || says_unit(name, its)) its.clear();
  Tile tile{std::move(name), cell_text(document, value, type, unit, false), std::move(its), "", NAN};
  if (unit == "%" && type != duck::Type::time) tile.share = number_of(value);
  return tile;
}

std::string tiles_html(const Document& document, const ReportResult& result) {
  const duck::ResultTable& table = result.table;
  const auto place_of = [&](std::string_view name) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&](const duck::ResultColumn& column) { return column.name == name; });
    return static_cast<std::size_t>(found - table.columns.begin());
  };
  const std::size_t none = table.columns.size();
  const std::size_t name = place_of("name"), value = place_of("value"), unit = place_of("unit");
  std::string html = "<ul class=\"tiles\">\n";
  if (name != none && value != none) {
    for (const auto& row : table.rows) {
      const auto* own = unit == none ? nullptr : std::get_if<std::string>(&row[unit]);
      const auto* word = std::get_if<std::string>(&row[name]);
      Tile tile = tile_of(document,
                          word ? word_text(document, result.spec, table.columns[name].name, *word)
                               : value_text(document, row[name], table.columns[name].type, "none"),
                          row[value], table.columns[value].type,
                          own ? std::string_view(*own) : unit_of(result.spec, table.columns[value].name));
      for (std::size_t c = 0; c < none; ++c)
        if (const auto* text = std::get_if<std::string>(&row[c]);
            text && c != name && c != value && c != unit)
          tile.more += (tile.more.empty() ? "" : " ") + *text;
      html += tile_html(tile);
    }
  } else if (!table.rows.empty()) {
    for (std::size_t c = 0; c < none; ++c)
      html +=
          tile_html(tile_of(document, heading_of(document, result.spec, table.columns[c]), table.rows[0][c],
                            table.columns[c].type, unit_of(result.spec, table.columns[c].name)));
  }
  return html + "</ul>\n";
}

// --- tables

std::string table_html(const Document& document, const ReportResult& result) {
  const duck::ResultTable& table = result.table;
  const std::size_t total = table.rows.size(), most = std::min(total, kTableRows);
  const auto count = [&](std::size_t n) {
    return value_text(document, static_cast<std::int64_t>(n), duck::Type::integer, "");
  };
  std::string html = fmt::format(
      "<details class=\"table\"{}><summary>{} <span class=\"count\">({})</span></summary>\n",
      result.spec.chart.kind == "none" ? " open" : "", escaped(say(document, "page.table")),
      escaped(total == 1 ? say(document, "page.row") : say(document, "page.rows", {count(total)})));
  html += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}>\n<thead><tr>",
      escaped(result.spec.title), table.columns.size() > 8 ? " class=\"many\"" : "");
  std::vector<std::string_view> units;
  bool moved = false;  // a cell is not at the place of its column any more
  for (const duck::ResultColumn& column : table.columns) {
    const std::string_view unit = unit_of(result.spec, column.name);
    units.push_back(unit);
    if (is_drawn_only(result.spec, column.name)) {
      moved = true;
      continue;
    }
    html += is_figure(column) ? "<th class=\"n\" scope=\"col\"" : "<th scope=\"col\"";
    html += moved ? fmt::format(" data-column=\"{}\">", units.size() - 1) : ">";
    const std::string heading = heading_of(document, result.spec, column);
    html += escaped(heading);
    const std::string text =
        unit == "s" || unit == "ratio" || unit == "count" ? "" : unit_text(document, unit);
    if (!text.empty() && !says_unit(heading, text))
      html += " <span class=\"unit\">" + escaped(text) + "</span>";
    html += "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < most; ++r) {
    html += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Value& value = table.rows[r][c];
      const duck::Type type = table.columns[c].type;
      if (is_drawn_only(result.spec, table.columns[c].name)) continue;
      if (duck::is_null(value)) {
        html += is_figure(table.columns[c]) ? "<td class=\"n null\">–</td>" : "<td class=\"null\">–</td>";
        continue;
      }
      html += is_figure(table.columns[c]) ? "<td class=\"n\">" : "<td>";
      // An id, a year or an hour is a number but no figure: those have no unit.
      const bool plain = units[c].empty() && type == duck::Type::integer;
      const auto* text = std::get_if<std::string>(&value);
      html += escaped(text ? word_text(document, result.spec, table.columns[c].name, *text)
                           : cell_text(document, value, type, units[c], plain));
      html += "</td>";
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (most < total)
    html +=
        "<p class=\"cut\">" + escaped(say(document, "page.rows_cut", {count(most), count(total)})) + "</p>\n";
  if (most > kPaperRows)
    html += "<p class=\"cut print-only\">" +
            escaped(say(document, "page.rows_paper", {count(kPaperRows), count(total)})) + "</p>\n";
  return html + "</details>\n";
}

// --- what stands around

std::string chart_label(const Document& document, const ReportResult& result) {
  const std::string kind = say(document, "page.kind." + result.spec.chart.kind);
  const auto heading = [&](const char* option) {
    std::string text;
    const auto found = result.spec.chart.options.find(option);
    if (found == result.spec.chart.options.end()) return text;
    for (const duck::ResultColumn& column : result.table.columns) {
      const bool named = ("," + found->second + ",").find("," + column.name + ",") != std::string::npos;
      if (named) text += (text.empty() ? "" : ", ") + heading_of(document, result.spec, column);
    }
    return text;
  };
  const std::string rows = std::to_string(result.table.rows.size()), x = heading("x");
  std::string y = heading("y");
  for (const char* other : {"median", "value"})
    if (y.empty()) y = heading(other);
  if (x.empty() || y.empty()) return say(document, "page.chart_label_short", {result.spec.title, kind, rows});
  return say(document, "page.chart_label", {result.spec.title, kind, y, x, rows});
}

std::string notes_html(const Document& document, const ReportResult& result) {
  const ReportSpec& spec = result.spec;
  std::string html;
  const auto entry = [&](std::string_view key, const std::string& text) {
    if (text.empty()) return;
    html += "<dt>" + escaped(say(document, key)) + "</dt><dd>" + with_code(escaped_lines(text)) + "</dd>\n";
  };
  entry("page.note", with_headings(document, result, spec.note));
  entry("page.counts", counts_text(document, spec));
  entry("page.left_out", with_headings(document, result, spec.left_out));
  std::string parameters;
  for (const Parameter& parameter : spec.parameters)
    parameters += fmt::format("{}{} = {}{}", parameters.empty() ? "" : "; ", parameter.name, parameter.value,
                              parameter.help.empty() ? "" : " (" + parameter.help + ")");
  entry("page.parameters", parameters);
  return html.empty() ? html : "<dl class=\"notes\">\n" + html + "</dl>\n";
}

std::string tool_html(const Document& document, const ReportSpec& spec, const char* what) {
  return fmt::format("<button type=\"button\" data-do=\"{}\" aria-label=\"{}\">{}</button>", what,
                     escaped(say(document, fmt::format("page.download_{}_of", what), {spec.title})),
                     escaped(say(document, fmt::format("page.download_{}", what))));
}

// Where ECharts draws; page.js finds the rows beside it.
bool is_drawn(const std::string& kind) { return kind != "none" && kind != "tiles" && !kind.empty(); }

}  // namespace

std::string escaped_lines(std::string_view text) {
  std::string html;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (from > 0) html += '\n';
    html += escaped(text.substr(from, end - from));
    from = end + 1;
  }
  return html;
}

// Notes set names of commands and files in backticks; one that stands alone is itself.
std::string with_code(std::string html) {
  for (std::size_t open = 0; (open = html.find('`', open)) != html.npos;) {
    const std::size_t close = html.find('`', open + 1);
    if (close == html.npos) break;
    if (html.find('\n', open) < close || close == open + 1) {
      open = close;
      continue;
    }
    const std::string code = "<code>" + html.substr(open + 1, close - open - 1) + "</code>";
    html.replace(open, close - open + 1, code);
    open += code.size();
  }
  return html;
}

std::string visible(std::string_view text) {
  std::string out = for_terminal(text);
  // U+202A to U+202E and U+2066 to U+2069: a name must not write backwards over its neighbours.
  for (std::size_t at = 0; (at = out.find('\xe2', at)) != out.npos; ++at) {
    const std::string_view sign = std::string_view(out).substr(at, 3);
    if ((sign >= "\u202a" && sign <= "\u202e") || (sign >= "\u2066" && sign <= "\u2069"))
      out.replace(at, 3, "\ufffd");
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : visible(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string json_for_script(const Json& value) {
  const std::string text = value.dump();
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    // In JSON these stand in strings only, where an escape means the same.
    switch (const char c = text[i]; c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      case '\xe2':  // U+2028 and U+2029 end a line in old JavaScript
        if (text.compare(i, 3, "\u2028") == 0 || text.compare(i, 3, "\u2029") == 0) {
          out += text[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
          i += 2;
          break;
        }
        [[fallthrough]];
      default:
        out += c;
    }
  }
  return out;
}

std::string report_card(const Document& document, const ReportResult& result) {
  const ReportSpec& spec = result.spec;
  const std::string id = escaped(spec.plugin + "." + spec.name);
  const bool made = result.outcome == Outcome::made && !result.table.rows.empty();
  const bool drawn = made && is_drawn(spec.chart.kind);
  std::string html = fmt::format(
      "<article class=\"report{}\" id=\"{}\">\n<div class=\"report-line\"><h4><a href=\"#{}\">{}</a></h4>",
      result.outcome == Outcome::failed ? " failed" : "", id, id, escaped(spec.title));
  if (made) {
    html += "<div class=\"tools needs-js\">" + (drawn ? tool_html(document, spec, "png") : "") +
            tool_html(document, spec, "csv") + "</div>";
  }
  html += "</div>\n";
  if (result.outcome == Outcome::failed) {
    html += "<p class=\"failed-text\">" + escaped(say(document, "page.report_failed")) + ": " +
            escaped_lines(result.why) + "</p>\n";
  } else if (!made) {
    html += "<p class=\"nothing\">" + escaped(say(document, "page.report_empty")) +
            (result.why.empty() ? "" : ": " + escaped_lines(result.why)) + "</p>\n";
  } else {
    if (spec.chart.kind == "tiles") html += tiles_html(document, result);
    if (drawn)
      html += "<div class=\"chart\" role=\"img\" aria-label=\"" + escaped(chart_label(document, result)) +
              "\"></div><p class=\"chart-note\"></p>\n";
  }
  // What there is nothing of needs no reading aid.
  if (made || result.outcome == Outcome::failed) html += notes_html(document, result);
  if (made) html += table_html(document, result);
  if (!spec.sql.empty() && (made || result.outcome == Outcome::failed))
    html += "<details class=\"query\"><summary>" + escaped(say(document, "page.query")) + "</summary><pre>" +
            escaped_lines(spec.sql) + "</pre></details>\n";
  if (made)
    html += "<script type=\"application/json\" class=\"data\">" + json_for_script(data_of(document, result)) +
            "</script>\n";
  return html + "</article>\n";
}

}  // namespace sickbay::workload
