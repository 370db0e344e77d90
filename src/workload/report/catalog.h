// SPDX-License-Identifier: Apache-2.0
// The plug-ins there are: folders with a plugin.json, read, put in order, chosen and given their parameters.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workload/report/report.h"

namespace sickbay::workload {

struct Catalog {
  std::vector<Plugin> plugins;  ///< by chapter, order and name; their reports by place and name
  std::vector<Error> problems;  ///< plug-ins that could not be read at all
};

/// All plug-ins of `folders`: each is a plug-in itself or holds some.  A report whose head is wrong is there
/// with its `fault`, so that it is named where its figures would be.  Errors: not_found.
Result<Catalog> load_catalog(const std::vector<std::string>& folders);

/// Of them the named plug-ins ("jobwait") and reports ("jobwait.percentiles"); all where none is named.
/// Errors: not_found with what was meant.
Result<std::vector<Plugin>> chosen(std::vector<Plugin> plugins, const std::vector<std::string>& names,
                                   const std::vector<std::string>& reports);

/// Sets "plugin.report.name" to a value.  Errors: not_found with what was meant, bad_input.
Status set_parameters(std::vector<Plugin>& plugins,
                      const std::vector<std::pair<std::string, std::string>>& values);

/// A whole file of at most 16 MiB.  Errors: not_found, denied, bad_input.
Result<std::string> read_text(const std::string& path);

}  // namespace sickbay::workload
