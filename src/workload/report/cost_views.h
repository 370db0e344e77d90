// SPDX-License-Identifier: Apache-2.0
// failed_runs and checkpoints_taken: what failures and checkpoints cost (workload/import/job_costs.h), with
// what the log says of the same jobs.
#pragma once
#include <string>

#include "workload/report/views.h"

namespace sickbay::workload {

/// Statements that make both views, for the period and the filter of `order`.  `has_tables`: the store has
/// job_failures and job_checkpoints; else the connection gets empty ones.
std::string cost_views_sql(const ViewOrder& order, bool has_tables);

}  // namespace sickbay::workload
