// SPDX-License-Identifier: Apache-2.0
// What `sickbay report` says of its plug-ins without making a report: --list, --help-plugin, --check and
// --list-messages.
#pragma once
#include <string>
#include <vector>

#include "workload/report/catalog.h"
#include "workload/report/run.h"

namespace sickbay::cli {

// Each prints, on standard output, and gives the exit code of the command.

Result<int> list_reports(const std::vector<workload::Plugin>& plugins, bool as_json);

/// What the plug-in of this name says, its reports and their parameters.
Result<int> help_plugin(const std::vector<workload::Plugin>& plugins, const std::string& name);

/// Runs every SELECT on a store without jobs, every executable on one of ten jobs (whose path it makes), and
/// names the texts that translations in `folders` lack.
Result<int> check_reports(const std::vector<std::string>& folders, const workload::Catalog& catalog,
                          const std::vector<workload::Plugin>& plugins, workload::ExecutableCheck executables,
                          bool as_json);

/// All texts that a translation may hold, as JSON.
Result<int> list_messages(const std::vector<std::string>& folders,
                          const std::vector<workload::Plugin>& plugins);

}  // namespace sickbay::cli
