// SPDX-License-Identifier: Apache-2.0
// What stands above the reports: the period, how many jobs, which of them, and where they came from.
#pragma once
#include "workload/report/run.h"

namespace sickbay::workload {

/// Asks a connection that has the views.  `jobs` fit the filter.  Errors: those of the store.
Status add_facts(duck::Connection& connection, const RunOrder& order, std::int64_t jobs, Document& document);

/// "2021-05-01 to 2021-07-31 12:30 (91.5 days)", of the view `table` (period, period2); "" where there is no
/// such period.  `asked`: else it is the span of the log, which the words say.
Result<std::string> period_text(duck::Connection& connection, const Document& document, const char* table,
                                bool asked);

/// Why there is nothing to report on, and what to ask for instead.
Error no_job_fits(duck::Connection& connection, const RunOrder& order);

}  // namespace sickbay::workload
