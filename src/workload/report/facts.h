// SPDX-License-Identifier: Apache-2.0
// What stands above the reports: the period, how many jobs, which of them, and where they came from.
#pragma once
#include "workload/report/run.h"

namespace sickbay::workload {

/// Asks a connection that has the views.  `jobs` fit the filter.  Errors: those of the store.
Status add_facts(duck::Connection& connection, const RunOrder& order, std::int64_t jobs, Document& document);

/// Why there is nothing to report on, and what to ask for instead.
Error no_job_fits(duck::Connection& connection, const RunOrder& order);

}  // namespace sickbay::workload
