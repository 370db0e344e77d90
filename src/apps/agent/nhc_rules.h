// SPDX-License-Identifier: Apache-2.0
// Rules out of an nhc.conf, in memory, for an agent that is given one in the place of its rule folders.
//
// For a first week beside NHC: the file stays as it is, nothing is written, and a change of it counts as a
// change of rules does.  What cannot be taken is said, at each reading; it is no reason not to run.
#pragma once
#include <string>
#include <vector>

#include "apps/agent/rule_files.h"
#include "engine/diagnose/import_nhc.h"

namespace sickbay::agent {

/// `names`: what this node is called, by Slurm and by its kernel.  Errors: those of read_file; bad_input.
Result<diagnose::NhcImport> read_nhc(const std::string& path, const std::vector<std::string>& names);
/// One line for each line of the file that is not taken whole, and the sum of them.
std::string describe(const diagnose::NhcImport& made);

}  // namespace sickbay::agent
