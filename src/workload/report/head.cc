// SPDX-License-Identifier: Apache-2.0
#include "workload/report/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>

#include "base/spelling.h"
#include "base/text.h"
#include "workload/report/count_rules.h"
#include "workload/report/views.h"

namespace sickbay::workload {
namespace {

using Words = std::vector<std::string_view>;

// ---- the tables -------------------------------------------------------------------------------------------

constexpr auto kHeadWords =
    std::to_array<std::string_view>({"title", "needs", "chart", "units", "words", "param", "note", "counts",
                                     "left out", "SPDX-License-Identifier"});

constexpr auto kUnits = std::to_array<std::string_view>({"jobs", "core-h", "GPU-h", "node-h", "h", "s", "%",
                                                         "GiB", "GiB-h", "GiB/s", "kWh", "SU", "cores",
                                                         "nodes", "users", "ratio", "count", "none"});

// What an option of a chart holds.
enum class Holds : std::uint8_t {
  column,   // one column of the result
  figure,   // one column of numbers
  figures,  // one or more of them
  yes,      // "yes"
  axes,     // which axis is logarithmic: x, y or xy
  behind,   // of each column of axes= another figure: the same name with this behind it
  number,
};
struct OptionRow {
  std::string_view name;
  Holds holds;
  bool required;
};
struct ChartRow {
  std::string_view kind;
  std::vector<OptionRow> options;
};

const std::vector<ChartRow>& chart_rows() {
  static const OptionRow x{"x", Holds::column, true}, y{"y", Holds::figures, true},
      group{"group", Holds::column, false}, log{"log", Holds::axes, false},
      mark{"mark", Holds::number, false}, mark_of{"mark_of", Holds::figure, false},
      stacked{"stacked", Holds::yes, false}, suffix{"suffix", Holds::column, false},
      largest{"largest", Holds::yes, false};
  static const std::vector<ChartRow> rows = {
      {"tiles", {}},
      {"bar", {x, y, group, suffix, stacked, log, largest}},
      {"hbar", {x, y, group, suffix, stacked, log, largest}},
      {"line", {x, y, group, mark, mark_of, log}},
      {"stacked_area", {x, y, group, mark, mark_of}},
      {"pareto", {x, {"y", Holds::figure, true}, {"share", Holds::figure, false}}},
      {"box",
       {x,
        {"low", Holds::figure, true},
        {"q1", Holds::figure, true},
        {"median", Holds::figure, true},
        {"q3", Holds::figure, true},
        {"high", Holds::figure, true},
        {"least", Holds::figure, false},
        {"most", Holds::figure, false},
        {"count", Holds::figure, false},
        log}},
      {"heatmap",
       {x, {"y", Holds::column, true}, {"value", Holds::figure, true}, {"count", Holds::figure, false}}},
      {"radar",
       {{"name", Holds::column, true}, {"axes", Holds::figures, true}, {"places", Holds::behind, false}}},
      {"scatter", {{"x", Holds::figure, true}, {"y", Holds::figure, true}, group, log}},
      {"none", {}},
  };
  return rows;
}

// ---- words ------------------------------------------------------------------------------------------------

Words split_words(std::string_view text, std::string_view separators = " \t") {
  Words words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(separators);
    if (begin == text.npos) return words;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::string meant(std::string_view word, std::span<const std::string_view> known) {
  const std::string near = did_you_mean(word, known);
  if (!near.empty()) return fmt::format("; did you mean '{}'?", near);
  std::string all;
  for (const std::string_view each : known) all += (all.empty() ? "" : ", ") + std::string(each);
  return fmt::format("; known: {}", all);
}
std::string meant(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  if (known.size() <= 12) return meant(word, std::span<const std::string_view>(views));
  const std::string near = did_you_mean(word, known);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

bool is_name(std::string_view text) {
  if (text.empty() || text.front() < 'a' || text.front() > 'z') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z'); });
}

// ---- one word of a head -----------------------------------------------------------------------------------
// Each takes the text behind the word and says what is wrong with it, or "".

std::string take_needs(ReportSpec& spec, std::string_view text) {
  static const std::vector<std::string> others = {"node_events.node",
                                                  "node_events.state",
                                                  "node_events.begins",
                                                  "node_events.ends",
                                                  "node_events.cpus",
                                                  "node_events.reason",
                                                  "node_events.cluster",
                                                  "nodes.node",
                                                  "nodes.cpus",
                                                  "nodes.memory",
                                                  "nodes.gpus",
                                                  "nodes.partitions",
                                                  "nodes.cluster",
                                                  "nodes.valid_from",
                                                  "users.user_name",
                                                  "users.name",
                                                  "users.team",
                                                  "users.research_field",
                                                  "accounts.account",
                                                  "accounts.budget",
                                                  "period2.begins",
                                                  "job_failures.job_id_raw",
                                                  "job_checkpoints.job_id_raw"};
  for (const std::string_view words : split_words(text, " \t,")) {
    // "a|b": one of them will do.
    for (const std::string_view word : split_words(words, "|")) {
      const auto& known = word.find('.') == word.npos ? j_columns() : others;
      if (std::find(known.begin(), known.end(), word) == known.end())
        return fmt::format("there is no column {}{}", quote_for_message(word), meant(word, known));
    }
    spec.needs.emplace_back(words);
  }
  return spec.needs.empty() ? "it names no column" : "";
}

std::string take_chart(ReportSpec& spec, std::string_view text) {
  const Words words = split_words(text);
  if (words.empty()) return "the kind of chart is missing";
  const auto& rows = chart_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ChartRow& r) { return r.kind == words[0]; });
  if (row == rows.end()) {
    std::vector<std::string_view> kinds;
    for (const ChartRow& r : rows) kinds.push_back(r.kind);
    return fmt::format("there is no chart {}{}", quote_for_message(words[0]),
                       meant(words[0], std::span<const std::string_view>(kinds)));
  }
  spec.chart.kind = words[0];
  std::vector<std::string_view> names;
  for (const OptionRow& option : row->options) names.push_back(option.name);
  for (const std::string_view word : Words(words.begin() + 1, words.end())) {
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const std::string value(equals == word.npos ? std::string_view() : word.substr(equals + 1));
    const auto option = std::find_if(row->options.begin(), row->options.end(),
                                     [&](const OptionRow& o) { return o.name == name; });
    if (option == row->options.end())
      return names.empty()
                 ? fmt::format("a {} chart has no options, not {}", row->kind, quote_for_message(name))
                 : fmt::format("a {} chart has no option {}{}", row->kind, quote_for_message(name),
                               meant(name, std::span<const std::string_view>(names)));
    if (value.empty()) return fmt::format("the option '{}' has no value", name);
    if (option->holds == Holds::yes && value != "yes")
      return fmt::format("'{}' can only be yes, not {}", name, quote_for_message(value));
    if (option->holds == Holds::axes && value != "x" && value != "y" && value != "xy")
      return fmt::format("'{}' must be x, y or xy, not {}", name, quote_for_message(value));
    if (option->holds == Holds::number) {
      double number = 0;
      const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
      if (read.ec != std::errc() || read.ptr != value.data() + value.size())
        return fmt::format("'{}' must be a number, not {}", name, quote_for_message(value));
    }
    if (!spec.chart.options.emplace(name, value).second)
      return fmt::format("the option '{}' is given twice", name);
  }
  for (const OptionRow& option : row->options)
    if (option.required && !spec.chart.options.contains(std::string(option.name)))
      return fmt::format("a {} chart needs {}=", row->kind, option.name);
  return "";
}

std::string take_units(ReportSpec& spec, std::string_view text) {
  for (const std::string_view word : split_words(text, " \t,")) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0)
      return fmt::format("{} is not of the form column=unit", quote_for_message(word));
    const std::string_view unit = word.substr(equals + 1);
    if (std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end())
      return fmt::format("there is no unit {}{}", quote_for_message(unit),
                         meant(unit, std::span<const std::string_view>(kUnits)));
    if (!spec.units.emplace(word.substr(0, equals), unit).second)
      return fmt::format("the column '{}' has two units", word.substr(0, equals));
  }
  return "";
}

std::string take_counts(ReportSpec& spec, std::string_view text) {
  std::vector<std::string_view> known;
  for (const CountRule& rule : count_rules()) known.push_back(rule.word);
  for (const std::string_view word : split_words(text, " \t,")) {
    if (std::find(known.begin(), known.end(), word) == known.end())
      return fmt::format("there is no rule {}{}", quote_for_message(word),
                         meant(word, std::span<const std::string_view>(known)));
    spec.counts.emplace_back(word);
  }
  return "";
}

// name type default help...
std::string take_param(ReportSpec& spec, std::string_view text) {
  constexpr auto kTypes = std::to_array<std::string_view>({"integer", "number", "text"});
  const Words words = split_words(text);
  if (words.size() < 4) return "a parameter is: name type default help";
  if (!is_name(words[0])) return fmt::format("{} is no name: a-z, 0-9 and _", quote_for_message(words[0]));
  if (std::find(kTypes.begin(), kTypes.end(), words[1]) == kTypes.end())
    return fmt::format("there is no type {}{}", quote_for_message(words[1]),
                       meant(words[1], std::span<const std::string_view>(kTypes)));
  Parameter parameter{
      std::string(words[0]), std::string(words[1]), "",
      std::string(trimmed(text.substr(static_cast<std::size_t>(words[3].data() - text.data()))))};
  const std::string_view value = words[2] == "''" ? std::string_view() : words[2];
  if (auto set = set_parameter(parameter, value); !set) return set.error().what;
  for (const Parameter& other : spec.parameters)
    if (other.name == parameter.name) return fmt::format("the parameter '{}' is there twice", parameter.name);
  spec.parameters.push_back(std::move(parameter));
  return "";
}

void append_line(std::string& text, std::string_view line) {
  if (!text.empty()) text += '\n';
  text += line;
}

std::string take_word(ReportSpec& spec, std::string_view word, std::string_view text) {
  if (word == "SPDX-License-Identifier") return "";
  if (std::find(kHeadWords.begin(), kHeadWords.end(), word) == kHeadWords.end())
    return fmt::format("unknown word {}{}", quote_for_message(word),
                       meant(word, std::span<const std::string_view>(kHeadWords)));
  if (text.empty()) return fmt::format("'{}' says nothing", word);
  if (word == "needs") return take_needs(spec, text);
  if (word == "counts") return take_counts(spec, text);
  if (word == "units") return take_units(spec, text);
  if (word == "words") {
    for (const std::string_view column : split_words(text, " \t,")) spec.words.emplace(column);
    return "";
  }
  if (word == "param") return take_param(spec, text);
  if (word == "note") return append_line(spec.note, text), "";
  if (word == "left out") return append_line(spec.left_out, text), "";
  if (word == "chart") {
    if (!spec.chart.kind.empty()) return "there are two charts";
    return take_chart(spec, text);
  }
  if (!spec.title.empty()) return "there are two titles";
  if (text.ends_with('.')) return "a title has no full stop";
  spec.title = text;
  return "";
}

std::string missing_word(const ReportSpec& spec) {
  if (spec.title.empty()) return "title";
  if (spec.note.empty()) return "note";
  if (spec.units.empty() && spec.chart.kind != "tiles") return "units";  // tiles may have a column of them
  return "";
}

tl::unexpected<Error> wrong(const std::string& where, std::string_view what) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{}: {}", where, what))
                  .remedied_by("doc/formats/report.md describes heads"));
}

// "01_percentiles.sql" -> place and name.
bool take_file_name(const std::string& path, ReportSpec& spec) {
  const std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t bar = stem.find('_');
  if (bar == stem.npos || bar == 0 || bar > 4) return false;
  const auto read = std::from_chars(stem.data(), stem.data() + bar, spec.place);
  spec.name = stem.substr(bar + 1);
  return read.ec == std::errc() && read.ptr == stem.data() + bar && is_name(spec.name);
}

// ---- columns ----------------------------------------------------------------------------------------------

struct Columns {
  std::vector<std::string> names;
  std::span<const duck::ResultColumn> all;

  const duck::ResultColumn* find(std::string_view name) const {
    const auto at = std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
    return at == all.end() ? nullptr : &*at;
  }
};

bool is_number(const duck::ResultColumn& column) {
  return column.type == duck::Type::integer || column.type == duck::Type::real;
}

std::string check_option(const Columns& columns, const OptionRow& option, std::string_view value) {
  if (option.holds == Holds::yes || option.holds == Holds::axes || option.holds == Holds::number ||
      option.holds == Holds::behind)
    return "";
  for (const std::string_view name : split_words(value, ",")) {
    const duck::ResultColumn* column = columns.find(name);
    if (column == nullptr)
      return fmt::format("the result has no column {}{}", quote_for_message(name),
                         meant(name, columns.names));
    if (option.holds != Holds::column && !is_number(*column))
      return fmt::format("the column '{}' of {}= must hold numbers", name, option.name);
  }
  return "";
}

}  // namespace

Result<ReportSpec> parse_report(const std::string& plugin, const std::string& path, std::string_view text) {
  ReportSpec spec;
  spec.plugin = plugin;
  spec.path = path;
  spec.sql = text;
  if (!take_file_name(path, spec))
    return wrong(path,
                 "a report's file is named like 01_percentiles.sql: its place, '_', its name (a-z, 0-9, _)");
  int line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view here = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++line;
    if (here.empty() || here == "--") continue;
    if (!here.starts_with("--")) break;  // the SELECT
    const std::string_view comment = trimmed(here.substr(2));
    const std::size_t colon = comment.find(':');
    const std::string where = fmt::format("{}:{}", path, line);
    if (colon == comment.npos)
      return wrong(where,
                   fmt::format("a line of the head is '-- word: text', not {}", quote_for_message(here)));
    const std::string_view word = comment.substr(0, colon);
    spec.lines.emplace(word, line);
    if (const std::string bad = take_word(spec, word, trimmed(comment.substr(colon + 1))); !bad.empty())
      return wrong(where, bad);
  }
  if (const std::string word = missing_word(spec); !word.empty())
    return wrong(path + ":1", fmt::format("the head has no {}", word));
  if (spec.chart.kind.empty()) spec.chart.kind = "none";
  return spec;
}

Result<Plugin> parse_plugin(const std::string& path, std::string_view text) {
  constexpr auto kKeys =
      std::to_array<std::string_view>({"name", "title", "help", "chapter", "order", "reports"});
  auto json = Json::parse(text, {.source = path});
  if (!json) return fail(json.error());
  const auto where = [&](const Json& value) {
    const auto [line, column] = line_and_column(text, value.offset());
    return fmt::format("{}:{}:{}", path, line, column);
  };
  if (!json->is_object()) return wrong(path, "must be an object");
  Plugin plugin;
  plugin.folder = std::filesystem::path(path).parent_path().string();
  for (const auto& [key, value] : json->members()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      return wrong(where(value), fmt::format("unknown key {}{}", quote_for_message(key),
                                             meant(key, std::span<const std::string_view>(kKeys))));
    if (key == "reports" ? !value.is_array() : key == "order" ? !value.is_int() : !value.is_string())
      return wrong(where(value), fmt::format("'{}' cannot be {} {}", key, value.is_array() ? "an" : "a",
                                             value.type_name()));
  }
  plugin.name = (*json)["name"].as_string();
  plugin.title = (*json)["title"].as_string();
  plugin.help = (*json)["help"].as_string();
  plugin.chapter = (*json)["chapter"].as_string();
  plugin.order = static_cast<int>((*json)["order"].as_int(100));
  if (!is_name(plugin.name))
    return wrong(where((*json)["name"]),
                 fmt::format("the name {} is none: a-z, 0-9 and _", quote_for_message(plugin.name)));
  for (const char* key : {"title", "help", "chapter"})
    if ((*json)[key].as_string().empty()) return wrong(path, fmt::format("'{}' is missing", key));
  if (std::find(std::begin(kChapters), std::end(kChapters), plugin.chapter) == std::end(kChapters))
    return wrong(where((*json)["chapter"]),
                 fmt::format("there is no chapter {}{}", quote_for_message(plugin.chapter),
                             meant(plugin.chapter, std::span<const std::string_view>(kChapters))));

  // Executables: the words of a head are members; one that may come several times is a list.
  for (const Json& each : (*json)["reports"].items()) {
    if (!each.is_object()) return wrong(where(each), "a report is an object");
    ReportSpec spec;
    spec.plugin = plugin.name;
    spec.path = path;
    spec.executable = true;
    spec.name = each["name"].as_string();
    spec.place = static_cast<int>(each["place"].as_int());
    spec.command = each["command"].as_strings();
    if (!is_name(spec.name)) return wrong(where(each), "a report needs a \"name\" of a-z, 0-9 and _");
    if (spec.command.empty() || spec.command.size() != each["command"].size())
      return wrong(where(each),
                   fmt::format("the report '{}' needs a \"command\": a list of words", spec.name));
    for (const auto& [key, value] : each.members()) {
      if (key == "name" || key == "place" || key == "command") continue;
      spec.lines.emplace(key, line_and_column(text, value.offset()).first);
      const auto texts = value.is_string() ? std::vector<std::string>{value.as_string()} : value.as_strings();
      if (texts.empty()) return wrong(where(value), fmt::format("'{}' is a text or a list of texts", key));
      for (const std::string& one : texts)
        if (const std::string bad = take_word(spec, key, one); !bad.empty()) return wrong(where(value), bad);
    }
    if (const std::string word = missing_word(spec); !word.empty())
      return wrong(where(each), fmt::format("the report '{}' has no {}", spec.name, word));
    if (spec.chart.kind.empty()) spec.chart.kind = "none";
    plugin.reports.push_back(std::move(spec));
  }
  return plugin;
}

Status check_columns(const ReportSpec& spec, const std::vector<duck::ResultColumn>& columns) {
  const auto at = [&](const char* word) {
    const auto line = spec.lines.find(word);
    return fmt::format("{}:{}", spec.path, line == spec.lines.end() ? 1 : line->second);
  };
  Columns known{{}, columns};
  std::set<std::string> once;
  for (const duck::ResultColumn& column : columns) {
    if (!once.insert(column.name).second)
      return wrong(spec.path, fmt::format("the result has two columns '{}'", column.name));
    known.names.push_back(column.name);
  }
  const auto& rows = chart_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const ChartRow& r) { return r.kind == spec.chart.kind; });
  SB_CHECK(row != rows.end(), "a parsed chart has a row");
  for (const OptionRow& option : row->options)
    if (const auto value = spec.chart.options.find(std::string(option.name));
        value != spec.chart.options.end())
      if (const std::string bad = check_option(known, option, value->second); !bad.empty())
        return wrong(at("chart"), bad);
  if (const auto places = spec.chart.options.find("places"); places != spec.chart.options.end())
    for (const std::string_view axis : split_words(spec.chart.options.at("axes"), ",")) {
      const std::string name = std::string(axis) + places->second;
      const duck::ResultColumn* column = known.find(name);
      if (column == nullptr || !is_number(*column))
        return wrong(at("chart"),
                     fmt::format("the result has no column {} of numbers, the place of {} on its axis",
                                 quote_for_message(name), quote_for_message(axis)));
    }
  for (const auto& [name, unit] : spec.units)
    if (known.find(name) == nullptr)
      return wrong(at("units"), fmt::format("the result has no column {}{}", quote_for_message(name),
                                            meant(name, known.names)));
  for (const std::string& name : spec.words)
    if (known.find(name) == nullptr)
      return wrong(at("words"), fmt::format("the result has no column {}{}", quote_for_message(name),
                                            meant(name, known.names)));
  const bool named_tiles = spec.chart.kind == "tiles" && known.find("value") != nullptr &&
                           known.find("unit") != nullptr && known.find("name") != nullptr;
  for (const duck::ResultColumn& column : columns)
    if (is_number(column) && !spec.units.contains(column.name) && !(named_tiles && column.name == "value"))
      return wrong(at("units"), fmt::format("the column '{}' holds numbers and has no unit", column.name));
  return {};
}

Status set_parameter(Parameter& parameter, std::string_view value) {
  const char* end = value.data() + value.size();
  if (parameter.type == "integer") {
    std::int64_t number = 0;
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end)
      return fail(ErrorCode::bad_input, fmt::format("the parameter '{}' is a whole number, not {}",
                                                    parameter.name, quote_for_message(value)));
  } else if (parameter.type == "number") {
    double number = 0;
    const auto read = std::from_chars(value.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end)
      return fail(ErrorCode::bad_input, fmt::format("the parameter '{}' is a number, not {}", parameter.name,
                                                    quote_for_message(value)));
  }
  parameter.value = value;
  return {};
}

}  // namespace sickbay::workload
