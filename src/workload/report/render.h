// SPDX-License-Identifier: Apache-2.0
// Renderers: pure functions from a Document to a text.  A new one is one file render_NAME.cc and a line here.
//
// What they share is here too: how a figure of a unit is written for people, and the words of the page in the
// document's language.  CSV and JSON hold the values as the SQL gave them; Markdown and HTML round them.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workload/report/report.h"

namespace sickbay::workload {

/// The text of `key` ("page.period") in the document's language; `fallback` where it has none.
std::string_view message(const Document& document, std::string_view key, std::string_view fallback);

/// The unit of a column of the report; "" where it has none or "none".
std::string_view unit_of(const ReportSpec& spec, const std::string& column);
/// Heading of a column: its message "column.NAME", else its name as people write it: "lost_core_h" is "Lost
/// core-hours", "wait_s" in seconds is "Wait".
std::string heading_of(const Document& document, const ReportSpec& spec, const duck::ResultColumn& column);
/// The unit as people read it: its message "unit.UNIT", else the unit; "" for "none" and "".
std::string unit_text(const Document& document, std::string_view unit);

/// Whether a column holds numbers: it stands to the right, and has a unit.
inline bool is_figure(const duck::ResultColumn& column) {
  return column.type == duck::Type::integer || column.type == duck::Type::real;
}

/// Whether a column is for the chart alone: the place on an axis of which another column has the value
/// (`places=`).  Tables for people leave it out.
bool is_drawn_only(const ReportSpec& spec, std::string_view column);

/// A number of a report's result, whole or not; NaN for everything else.
double number_of(const duck::Value& value);
/// A value as people read it: "12,345.7", "2021-05-01 10:00", "yes"; "" for NULL.  Figures are rounded to
/// what their unit is worth reading (`unit` may be "": as many digits as a plain number needs).
std::string value_text(const Document& document, const duck::Value& value, duck::Type type,
                       std::string_view unit);

/// The same, with seconds as people say them ("3 d 4 h"); `plain_number`: an id or a year, without marks.
std::string cell_text(const Document& document, const duck::Value& value, duck::Type type,
                      std::string_view unit, bool plain_number = false);

/// A text that stands in a row: in the language of the document where it is a word of the report (its column
/// is one of `words`, or it stands in brackets, as "(no user)"), else, as a name of the log, as it is.
std::string word_text(const Document& document, const ReportSpec& spec, const std::string& column,
                      const std::string& text);
/// Whether a heading says its unit already ("Lost core-hours").
bool says_unit(std::string heading, std::string unit);

/// The chapters in the order of the document: the key ("overall") and its plug-ins' places in
/// Document::plugins.
std::vector<std::pair<std::string, std::vector<std::size_t>>> chapters(const Document& document);

/// For a terminal, a wiki or a mail.
std::string render_markdown(const Document& document);
/// One text: a section for each report, begun by "# id: title" and parted by empty lines.
std::string render_csv(const Document& document);
/// One file for each report that was made: its name ("jobwait.percentiles.csv") and its text.
std::vector<std::pair<std::string, std::string>> render_csv_files(const Document& document);
/// doc/formats/report.md, "The JSON document".
std::string render_json(const Document& document);

/// The parts that make the page one file; read by the caller from reports/page.
struct PageParts {
  std::string page_template, css, js, echarts;
};
/// One file that a browser shows without a network.
std::string render_html(const Document& document, const PageParts& parts);

}  // namespace sickbay::workload
