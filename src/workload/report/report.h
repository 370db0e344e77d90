// SPDX-License-Identifier: Apache-2.0
// A report: SQL files with a head, run over the filtered store, as one document that renderers print.
//
// The head's words and the views that SQL may use are in doc/formats/report.md.  Renderers (HTML, Markdown,
// CSV, JSON) are functions of a Document; a new one is one file render_NAME.cc and a row in its table.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/duckdb/database.h"
#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "workload/store/store.h"

namespace sickbay::workload {

struct Filter {
  std::optional<TimePoint> from, to;  ///< jobs whose life (submit to end) touches [from, to)
  std::vector<std::string> users, accounts, partitions, applications, states, clusters;
  std::optional<std::int64_t> min_cpus, max_cpus;
  std::optional<double> like;  ///< labels by likeness, too, where they are so sure (likeness.h)
};

/// Options of a chart as the head gives them: "pareto x=user_name y=core_h".
struct ChartSpec {
  std::string kind;  ///< "none": table only
  std::map<std::string, std::string> options;
};

struct Parameter {
  std::string name, type /* integer, number, text */, value, help;
};

/// One SQL file or one executable, its head parsed.
struct ReportSpec {
  std::string plugin, name;  ///< id is "plugin.name"
  std::string path, title, note, left_out, sql;
  std::vector<std::string> needs;
  std::vector<std::string> counts;  ///< words of count_rules(): what of a job counts
  ChartSpec chart;
  std::map<std::string, std::string> units;  ///< by column
  std::set<std::string> words;               ///< columns whose values are words of the report, not of the log
  std::vector<Parameter> parameters;
  bool executable = false;
  std::vector<std::string> command;  ///< of an executable; run in the plug-in's folder
  int place = 0;                     ///< among the reports of its plug-in
  std::string fault;                 ///< what is wrong with its head; empty: nothing
  std::map<std::string, int> lines;  ///< where `path` says each word of the head, for messages

  std::string id() const { return plugin + "." + name; }
};

struct Plugin {
  std::string name, title, help, chapter, folder;
  int order = 100;
  std::vector<ReportSpec> reports;
};

enum class Outcome : std::uint8_t { made, left_out, failed, empty };

struct ReportResult {
  ReportSpec spec;
  Outcome outcome = Outcome::made;
  std::string why;  ///< of left_out and failed
  duck::ResultTable table;
  double milliseconds = 0;
};

struct Document {
  std::string title, language, made_at, version;
  std::vector<std::pair<std::string, std::string>>
      facts;                                    ///< "Period" -> "2021-05-01 to 2021-07-31", sources, filter
  std::vector<Plugin> plugins;                  ///< in order, their specs
  std::vector<ReportResult> results;            ///< in order
  std::map<std::string, std::string> messages;  ///< texts of the page in `language`
  /// Columns whose values have an order of their own ("size_class": the site's classes).
  std::map<std::string, std::vector<std::string>> orders;
};

}  // namespace sickbay::workload
