// SPDX-License-Identifier: Apache-2.0
// Logs straight to a report: the import whose store is read once, and kept only where somebody wants it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "workload/import/asked_log.h"
#include "workload/import/import.h"
#include "workload/import/job_costs.h"
#include "workload/import/node_files.h"

namespace sickbay::workload {

struct LogsOfReport {
  ImportOrder order;  ///< without inputs: sacct is asked
  NodeFiles node_files;
  JobCostList costs;
  AskSacct ask_sacct;                 ///< called only where `order` names no input
  std::optional<TimePoint> from, to;  ///< the period of the report, of which sacct is asked
  bool kept = false;                  ///< the store outlives the report: a whole one, which others can read
};

/// Imports them into the store at `store_path`.  Without `from`, sacct is asked for 30 days before `now`.
/// Errors: as import_logs, as import_node_files, as ask_sacct.
Result<ImportResult> import_for_report(const LogsOfReport& logs, const std::string& store_path,
                                       TimePoint now);

}  // namespace sickbay::workload
