// SPDX-License-Identifier: Apache-2.0
// What failures cost (engine/history/costs.h), from a journal as text, for the store of workload analysis.
#pragma once
#include <string>

#include "base/result.h"
#include "workload/import/job_costs.h"

namespace sickbay::cli {

/// Of the file that `sickbay journal --json` made; `path` "" is none; `cluster`: whose it is, where that is
/// told.  Errors: as read_file; bad_input with the line.
Result<workload::JobCostList> costs_of_journal(const std::string& path, const std::string& cluster);

}  // namespace sickbay::cli
