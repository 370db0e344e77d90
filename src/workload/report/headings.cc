// SPDX-License-Identifier: Apache-2.0
// What stands above and in a cell: headings made of the names of columns, units, and words of the report.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

std::string capital(std::string text) {
  if (!text.empty()) text[0] = to_upper(text[0]);
  return text;
}

// Names of columns in SQL, as one writes them.
struct Spelling {
  std::string_view sql, text;
};
constexpr std::array kSpellings = {
    Spelling{"core h", "core-hours"},
    Spelling{"node h", "node-hours"},
    Spelling{"gpu h", "GPU-hours"},
    Spelling{"gib h", "GiB-hours"},
    Spelling{"cpu", "CPU"},
    Spelling{"cpus", "CPUs"},
    Spelling{"gpu", "GPU"},
    Spelling{"gpus", "GPUs"},
    Spelling{"gib", "GiB"},
    Spelling{"kwh", "kWh"},
    Spelling{"qos", "QOS"},
    Spelling{"rss", "RSS"},
    Spelling{"id", "ID"},
    Spelling{"io", "I/O"},
    Spelling{"req", "requested"},
    Spelling{"eff", "efficiency"},
};

std::string column_heading(const Document& document, const duck::ResultColumn& column) {
  std::string plain = column.name;
  std::replace(plain.begin(), plain.end(), '_', ' ');
  return std::string(message(document, "column." + column.name, plain));
}

}  // namespace

std::string_view unit_of(const ReportSpec& spec, const std::string& column) {
  const auto found = spec.units.find(column);
  return found == spec.units.end() || found->second == "none" ? std::string_view()
                                                              : std::string_view(found->second);
}

bool is_drawn_only(const ReportSpec& spec, std::string_view column) {
  const auto places = spec.chart.options.find("places"), axes = spec.chart.options.find("axes");
  if (places == spec.chart.options.end() || axes == spec.chart.options.end()) return false;
  if (places->second.empty() || !column.ends_with(places->second)) return false;
  column.remove_suffix(places->second.size());
  return ("," + axes->second + ",").find(fmt::format(",{},", column)) != std::string::npos;
}

// "lost_core_h" -> "Lost core-hours", "core_h_share" -> "Core-hour share", "wait_s" in seconds -> "Wait".
std::string heading_of(const Document& document, const ReportSpec& spec, const duck::ResultColumn& column) {
  std::string text = column_heading(document, column);
  if (!message(document, "column." + column.name, "").empty()) return text;
  std::string unit(unit_of(spec, column.name));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) { return to_lower(c); });
  std::string padded = " " + text + " ";
  // "Wait s" in seconds: the unit stands beside the name.  "Busy cores" would lose its noun.
  for (const std::string_view beside : {"s", "h", "gib", "kwh"})
    if (unit == beside && text != unit && padded.ends_with(" " + unit + " "))
      padded.resize(padded.size() - unit.size() - 1);
  for (const auto& [sql, spelled] : kSpellings)
    for (std::size_t at = 0; (at = padded.find(" " + std::string(sql) + " ", at)) != padded.npos; ++at) {
      std::string with(spelled);
      const bool one =
          at + sql.size() + 2 < padded.size() || std::string_view(padded).substr(0, at).ends_with(" per");
      if (with.ends_with("-hours") && one) with.pop_back();
      padded.replace(at + 1, sql.size(), with);
    }
  return capital(std::string(trimmed(padded)));
}

std::string word_text(const Document& document, const ReportSpec& spec, const std::string& column,
                      const std::string& text) {
  const bool bracketed = text.starts_with('(') && text.ends_with(')');
  if (!bracketed && !spec.words.contains(column)) return text;
  return std::string(message(document, "value." + text, message(document, "unit." + text, text)));
}

bool says_unit(std::string heading, std::string unit) {
  for (std::string* text : {&heading, &unit})
    std::transform(text->begin(), text->end(), text->begin(), [](char c) { return to_lower(c); });
  return !unit.empty() && (" " + heading + " ").find(" " + unit + " ") != std::string::npos;
}

}  // namespace sickbay::workload
