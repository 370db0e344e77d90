// SPDX-License-Identifier: Apache-2.0
// The document as Markdown, whose tables are also readable on a terminal: padded, figures to the right.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.h"
#include "workload/report/count_rules.h"
#include "workload/report/messages.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

constexpr std::size_t kMostRows = 50;  // the rest is in CSV, JSON and HTML

// Names of the log are hostile text: no HTML, no link and no picture may come of them, and nothing may speak
// to the terminal.
std::string harmless(std::string_view text) {
  std::string out;
  for (const char c : for_terminal(text)) {
    if (c == '<' || (c == '(' && out.ends_with(']'))) out += '\\';
    out += c;
  }
  return out;
}

// A cell must not end its cell, its row or the table either.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : harmless(text)) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

// Numbers of a tile table carry their unit in a column of their own.
std::string tile_unit(const duck::ResultTable& table, const std::vector<duck::Value>& row) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    if (table.columns[c].name == "unit")
      if (const auto* unit = std::get_if<std::string>(&row[c])) return *unit;
  return "";
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string blanks(width - std::min(width, static_cast<std::size_t>(display_width(text))), ' ');
  return right ? blanks + text : text + blanks;
}

// The columns that people read.
duck::ResultTable read_columns(const ReportResult& result) {
  duck::ResultTable table;
  table.rows.resize(result.table.rows.size());
  for (std::size_t c = 0; c < result.table.columns.size(); ++c) {
    if (is_drawn_only(result.spec, result.table.columns[c].name)) continue;
    table.columns.push_back(result.table.columns[c]);
    for (std::size_t i = 0; i < table.rows.size(); ++i) table.rows[i].push_back(result.table.rows[i][c]);
  }
  return table;
}

std::string table_text(const Document& document, const ReportResult& result) {
  const duck::ResultTable table = read_columns(result);
  std::vector<std::vector<std::string>> lines(1);
  for (const auto& column : table.columns) {
    const std::string_view own = unit_of(result.spec, column.name);
    const std::string unit = own == "s" || own == "ratio" || own == "count" ? "" : unit_text(document, own);
    const std::string heading = heading_of(document, result.spec, column);
    lines[0].push_back(
        escaped(unit.empty() || says_unit(heading, unit) ? heading : fmt::format("{} ({})", heading, unit)));
  }
  for (std::size_t i = 0; i < std::min(table.rows.size(), kMostRows); ++i) {
    auto& line = lines.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      std::string unit(unit_of(result.spec, table.columns[c].name));
      const bool plain = unit.empty() && table.columns[c].type == duck::Type::integer;
      if (unit.empty() && table.columns[c].name == "value") unit = tile_unit(table, table.rows[i]);
      const auto* text = std::get_if<std::string>(&table.rows[i][c]);
      line.push_back(
          escaped(text ? word_text(document, result.spec, table.columns[c].name, *text)
                       : cell_text(document, table.rows[i][c], table.columns[c].type, unit, plain)));
    }
  }
  std::vector<std::size_t> widths(table.columns.size(), 3);
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], static_cast<std::size_t>(display_width(line[c])));
  std::string text;
  const auto add = [&](const std::vector<std::string>& line) {
    text += "|";
    for (std::size_t c = 0; c < line.size(); ++c)
      text += " " + padded(line[c], widths[c], is_figure(table.columns[c])) + " |";
    text += "\n";
  };
  add(lines[0]);
  text += "|";
  for (std::size_t c = 0; c < widths.size(); ++c)
    text += " " + std::string(widths[c] - 1, '-') + (is_figure(table.columns[c]) ? ":" : "-") + " |";
  text += "\n";
  for (std::size_t i = 1; i < lines.size(); ++i) add(lines[i]);
  if (table.rows.size() > kMostRows)
    text += "\n" +
            filled(message(document, "page.rows_more", "{} more rows"),
                   std::to_string(table.rows.size() - kMostRows)) +
            "\n";
  return text;
}

std::string report_text(const Document& document, const ReportResult& result) {
  std::string text = fmt::format("#### {}\n\n", harmless(result.spec.title));
  const auto line = [&](std::string_view key, std::string_view english, std::string_view what) {
    text += fmt::format("{}: {}\n\n", message(document, key, english), harmless(what));
  };
  switch (result.outcome) {
    case Outcome::made:
      text += table_text(document, result) + "\n";
      break;
    case Outcome::empty:
      text += std::string(message(document, "page.report_empty", "No job fits")) + "\n\n";
      break;
    case Outcome::left_out:
      line("page.report_left_out", "Left out", result.why);
      return text;
    case Outcome::failed:
      line("page.report_failed", "Failed", result.why);
      return text;
  }
  // A note has lines of its own.
  const auto lines = [&](std::string_view key, std::string_view english, std::string note) {
    std::replace(note.begin(), note.end(), '\n', ' ');
    if (!note.empty()) line(key, english, note);
  };
  lines("page.note", "How to read it", result.spec.note);
  lines("page.counts", "What counts", counts_text(document, result.spec));
  lines("page.left_out", "Not counted", result.spec.left_out);
  return text;
}

}  // namespace

std::string render_markdown(const Document& document) {
  std::string text = fmt::format("# {}\n\n", harmless(document.title));
  for (const auto& [name, value] : document.facts) text += fmt::format("- {}: {}\n", name, harmless(value));
  if (!document.made_at.empty())
    text += fmt::format("- {}: {}, sickbay {}\n", message(document, "page.made_at", "Made"), document.made_at,
                        document.version);
  text += "\n";
  for (const auto& [chapter, plugins] : chapters(document)) {
    text += fmt::format("## {}\n\n", message(document, "chapter." + chapter, chapter));
    for (const std::size_t place : plugins) {
      const Plugin& plugin = document.plugins[place];
      text += fmt::format("### {}\n\n", harmless(plugin.title));
      for (const ReportResult& result : document.results)
        if (result.spec.plugin == plugin.name) text += report_text(document, result);
    }
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

}  // namespace sickbay::workload
