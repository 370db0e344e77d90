// SPDX-License-Identifier: Apache-2.0
// The words of the HTML page in English; reports/i18n has them in other languages, under the same keys.
#include <algorithm>
#include <array>

#include "workload/report/count_rules.h"
#include "workload/report/html_card.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

// Those that page.js uses; {} is filled in order.
constexpr std::array kScriptWords = {
    Word{"number.thousands", ","},
    Word{"number.decimal", "."},
    Word{"page.yes", "yes"},
    Word{"page.no", "no"},
    Word{"page.unknown", "unknown"},
    Word{"page.d", "d"},
    Word{"page.h", "h"},
    Word{"page.min", "min"},
    Word{"page.s", "s"},
    Word{"page.weekday.1", "Monday"},
    Word{"page.weekday.2", "Tuesday"},
    Word{"page.weekday.3", "Wednesday"},
    Word{"page.weekday.4", "Thursday"},
    Word{"page.weekday.5", "Friday"},
    Word{"page.weekday.6", "Saturday"},
    Word{"page.weekday.7", "Sunday"},
    Word{"page.other", "{} others"},
    Word{"page.groups_cut", "The {} largest of {} groups are drawn; the rest is in the table."},
    Word{"page.largest", "The {} largest of {} are drawn; the rest is in the table."},
    Word{"page.top", "The first {} of {} are drawn; the rest is in the table."},
    Word{"page.below", "below {}"},
    Word{"page.below_count", "{} of {} points lie below {} (red triangles)."},
    Word{"page.cumulated", "Cumulated share"},
    Word{"page.share", "Share"},
    Word{"page.unknown_series", "Unknown in this log: {}."},
    Word{"page.no_figures", "Nothing to draw: the log does not tell {}."},
    Word{"page.radar", "Choose in the legend whom to compare; each axis goes from 0 in the middle to 1."},
    Word{"page.points", "{} of {} points are drawn."},
    Word{"page.not_drawn",
         "{} points without a place on these axes (unknown, or 0 on a log axis) are not drawn."},
    Word{"page.box", "Box: from {} % to {} % of the jobs, with the median; whiskers: from {} % to {} %."},
    Word{"page.extremes", "Circles: the least and the most, where they lie beyond the whiskers."},
    Word{"page.over_scale", "Cells above the scale: {}. It ends at {}; the highest is {} (red frame)."},
    Word{"page.few", "Pale cells hold fewer than {} jobs, as many as they say."},
    Word{"page.at_floor", "What is less than the axis begins with, such as 0, is drawn at its beginning."},
    Word{"page.few_boxes", "Pale boxes hold fewer than {} jobs."},
    Word{"page.gaps", "A gap in a line: that figure is unknown."},
    Word{"page.no_chart", "The chart cannot be drawn ({}); its figures are in the table."},
    Word{"page.dark", "Dark"},
    Word{"page.light", "Light"},
};

// Those that C++ writes.
constexpr std::array kPageWords = {
    Word{"page.skip", "Skip to the reports"},
    Word{"page.contents", "Contents"},
    Word{"page.print", "Print"},
    Word{"page.made_at", "Made"},
    Word{"page.version", "Made by"},
    Word{"page.summary", "{} reports"},
    Word{"page.summary_one", "1 report"},
    Word{"page.summary_empty", "{} without data"},
    Word{"page.summary_left_out", "{} left out"},
    Word{"page.summary_failed", "{} failed"},
    Word{"page.note", "How to read it"},
    Word{"page.counts", "What counts"},
    Word{"page.left_out", "Not counted"},
    Word{"page.parameters", "Parameters"},
    Word{"page.query", "How it is computed"},
    Word{"page.table", "Table"},
    Word{"page.rows", "{} rows"},
    Word{"page.row", "1 row"},
    Word{"page.rows_cut", "The first {} of {} rows; sickbay report -o NAME.csv gives all."},
    Word{"page.rows_paper", "On paper the first {} of {} rows."},
    Word{"page.download_csv", "CSV"},
    Word{"page.download_png", "PNG"},
    Word{"page.download_csv_of", "Save the rows of “{}” as CSV"},
    Word{"page.download_png_of", "Save the chart of “{}” as PNG"},
    Word{"page.report_empty", "No job fits"},
    Word{"page.report_failed", "Failed"},
    Word{"page.report_left_out", "Left out"},
    Word{"page.absent", "Left out and failed"},
    Word{"page.self",
         "This page is one file and asks no network for anything. Names in it are those of the log."},
    Word{"page.chart_label", "{}: {} of {} by {}, {} rows. The table below holds the figures."},
    Word{"page.chart_label_short", "{}: {}, {} rows. The table below holds the figures."},
    Word{"page.kind.bar", "bar chart"},
    Word{"page.kind.hbar", "bar chart"},
    Word{"page.kind.line", "line chart"},
    Word{"page.kind.stacked_area", "stacked area chart"},
    Word{"page.kind.pareto", "Pareto chart"},
    Word{"page.kind.box", "box plot"},
    Word{"page.kind.heatmap", "heat map"},
    Word{"page.kind.radar", "radar chart"},
    Word{"page.kind.scatter", "scatter plot"},
};

template <class Words>
std::string_view english_in(const Words& words, std::string_view key) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const Word& word) { return word.key == key; });
  return found == words.end() ? std::string_view() : found->english;
}

}  // namespace

std::string say(const Document& document, std::string_view key, const std::vector<std::string>& values) {
  std::string_view english = english_in(kPageWords, key);
  if (english.empty()) english = english_in(kScriptWords, key);
  std::string text(message(document, key, english.empty() ? key : english));
  std::size_t from = 0;
  for (const std::string& value : values) {
    const std::size_t at = text.find("{}", from);
    if (at == std::string::npos) break;
    text.replace(at, 2, value);
    from = at + value.size();  // a value that holds {} itself is not filled
  }
  return text;
}

std::vector<Word> page_words() {
  std::vector<Word> all(kScriptWords.begin(), kScriptWords.end());
  all.insert(all.end(), kPageWords.begin(), kPageWords.end());
  for (const CountRule& rule : count_rules()) all.push_back({rule.key, rule.english});
  return all;
}

Json script_words(const Document& document) {
  Json words = Json::object();
  for (const Word& word : kScriptWords)
    words.set(std::string(word.key), message(document, word.key, word.english));
  return words;
}

}  // namespace sickbay::workload
