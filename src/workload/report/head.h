// SPDX-License-Identifier: Apache-2.0
// The heads of reports: comment lines before a SELECT, or members of plugin.json for an executable.
//
// Strict, since a typing error in a head would else show as a chart that is not there: an unknown word,
// option or unit, a missing title, note or unit, a column that the result lacks are errors with file and
// line.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/report/report.h"

namespace sickbay::workload {

/// The chapters in the order of the page.
inline constexpr std::string_view kChapters[] = {"overall", "use", "applications", "memory_io", "quality"};

/// `text` of the report file `path` ("reports/jobwait/01_percentiles.sql") of the plug-in of that name.
/// Errors: bad_input, "PATH:LINE: ...".
Result<ReportSpec> parse_report(const std::string& plugin, const std::string& path, std::string_view text);

/// plugin.json, with the executables that it lists in `reports`; the SQL files are the caller's to add.
/// Errors: bad_input, "PATH:LINE:COLUMN: ...".
Result<Plugin> parse_plugin(const std::string& path, std::string_view text);

/// That the columns of a result are those that the head speaks of.  Errors: bad_input, "PATH:LINE: ...".
Status check_columns(const ReportSpec& spec, const std::vector<duck::ResultColumn>& columns);

/// Sets a parameter.  Errors: bad_input when `value` is not of its type.
Status set_parameter(Parameter& parameter, std::string_view value);

}  // namespace sickbay::workload
