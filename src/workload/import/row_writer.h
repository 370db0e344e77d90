// SPDX-License-Identifier: Apache-2.0
// Jobs into the columns of the store's table.
#pragma once
#include <string_view>
#include <vector>

#include "adapters/duckdb/database.h"
#include "workload/job/row.h"

namespace sickbay::workload {

/// The columns of a RowSource of jobs: those of job_columns(), in their order.
std::vector<duck::ResultColumn> source_columns();
/// Writes one row.  An empty text is none.
void write_job(const Row& job, duck::ChunkWriter& chunk);

}  // namespace sickbay::workload
