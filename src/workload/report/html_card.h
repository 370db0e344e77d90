// SPDX-License-Identifier: Apache-2.0
// One report as a card of the HTML page: its chart's place, its table and notes as HTML, its rows as JSON.
//
// Names in logs are anybody's text.  All of it goes through escaped() or through json_for_script(), and
// nothing else writes to the page; control characters, which would forge lines or hide text, are shown.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "workload/report/report.h"

namespace sickbay::workload {

/// `text` with control characters, bytes that are no UTF-8 and signs that turn the direction of writing shown
/// instead of obeyed.
std::string visible(std::string_view text);
/// visible(text) for HTML text and quoted attributes.
std::string escaped(std::string_view text);
/// The same for texts of several lines, whose line ends stay.
std::string escaped_lines(std::string_view text);
/// HTML text whose `names` become <code>.
std::string with_code(std::string html);
/// The JSON text, with nothing in it that could end or comment out a <script>.
std::string json_for_script(const Json& value);

/// The words of the page: key and English text, which stands where the document's language has none.
struct Word {
  std::string_view key, english;
};
/// All of them; reports/i18n/en.json must say the same (test/page).
std::vector<Word> page_words();
/// What page.js says, as an object of key and text.
Json script_words(const Document& document);
/// The text of `key`, its {} filled in order.
std::string say(const Document& document, std::string_view key, const std::vector<std::string>& values = {});

/// The <article> of a report that was made, is empty or failed; a report that was left out has none.
std::string report_card(const Document& document, const ReportResult& result);

inline constexpr std::size_t kTableRows = 500;   ///< of a table in the page
inline constexpr std::size_t kChartRows = 5000;  ///< that a chart may use
inline constexpr std::size_t kPaperRows = 15;    ///< of a table on paper; page.css hides the others

}  // namespace sickbay::workload
