// SPDX-License-Identifier: Apache-2.0
// The files of specifications that hold on this host, and those named on the command line.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/diagnose/specification.h"

namespace sickbay::cli {

/// What `named` names: files, and folders for their *.json (neither tests nor the schema); with none, the
/// shipped rules and /etc/sickbay/rules.d, in this order.  Errors: not_found, denied, bad_input (too long).
Result<std::vector<diagnose::SpecificationFile>> rule_files(const std::vector<std::string>& named);

/// The tests (*.test.json) that `named` names: themselves, those beside a specification, those in a folder
/// and below it; with none, those of the shipped rules and of /etc/sickbay/rules.d.  Sorted.  Errors:
/// not_found, denied.
Result<std::vector<std::string>> rule_test_files(const std::vector<std::string>& named);

/// The names of the components that this host can restart: what the files of components.d describe; none
/// where there is no such folder.  Errors: bad_input with file:line:column, denied.
Result<std::vector<std::string>> components_here();

Result<diagnose::SpecificationFile> read_rule_file(const std::string& path);

}  // namespace sickbay::cli
