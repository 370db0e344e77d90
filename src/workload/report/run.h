// SPDX-License-Identifier: Apache-2.0
// The run of reports: side by side over the views of a store, each with its own limits; what fails is named
// in the document, and the rest is made.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "workload/report/messages.h"
#include "workload/report/report.h"
#include "workload/report/views.h"

namespace sickbay::workload {

/// A plug-in's executable, ready to start.  What it is told is in doc/formats/report.md.
struct ProgramOrder {
  std::vector<std::string> argv;
  std::string folder;                                            ///< it runs there
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::chrono::milliseconds time_limit{0};
  std::size_t most_bytes = 0;  ///< of its standard output
};
/// Runs it and gives back its standard output.  Errors: missing_program, timed_out, bad_input (it failed, or
/// wrote too much), os.  (Processes are no matter of this folder: the caller has them.)
using RunProgram = std::function<Result<std::string>(const ProgramOrder&)>;

struct RunOrder {
  std::vector<Plugin> plugins;  ///< chosen and translated, their parameters set
  ViewOrder views;
  Messages messages;
  std::string title, language = "en", time_zone = "UTC", made_at, version;
  std::string store_path;  ///< for executables; empty: there is no file, and they are left out
  std::chrono::milliseconds time_limit{60'000};  ///< of one report
  std::size_t most_rows = 100'000;
  int connections = 2;     ///< as many SELECTs run at once; executables run one at a time
  RunProgram run_program;  ///< may be empty: executables are left out
};

/// Makes the views on `connection` (a store opened read-only and sandboxed) and on others beside it, and runs
/// all reports.
/// Errors: not_found when no job fits the filter; what the store has.  A report that fails is no error: see
/// ReportResult.
Result<Document> make_document(duck::Connection& connection, const RunOrder& order);

/// Runs one report on a connection that has the views.
ReportResult run_report(duck::Connection& connection, const ReportSpec& spec, const RunOrder& order);

/// How a check starts executables: each once, on the store at `store_path` (ten_jobs.h).
struct ExecutableCheck {
  RunProgram run_program;
  std::string store_path;
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);
};

/// Runs every SELECT on a store without jobs, for `--check`, and every executable where `executables` says
/// how: the columns of all results go to `columns`.  One error for each report that is wrong.
Result<std::vector<Error>> check_reports(duck::Connection& empty_store, const std::vector<Plugin>& plugins,
                                         std::vector<std::string>& columns,
                                         const ExecutableCheck* executables = nullptr);

/// The table that an executable printed: CSV with a header, or JSON ([{...}] or {"columns", "rows"}).
/// A column is of integers, reals, booleans or times where all its values are; "" is NULL.
/// Errors: bad_input with its line.
Result<duck::ResultTable> parse_table(std::string_view text);

}  // namespace sickbay::workload
