// SPDX-License-Identifier: Apache-2.0
// What the jobs at hand say something of, and the reports that are left out for what they do not say.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "adapters/duckdb/database.h"
#include "workload/report/report.h"
#include "workload/report/views.h"

namespace sickbay::workload {

/// Which of the columns that reports need hold something, asked once for all reports.
class Coverage {
 public:
  /// Looks for what the reports of `plugins` need.  The connection has the views.
  Coverage(duck::Connection& connection, const ViewOrder& views, const std::vector<Plugin>& plugins);
  /// A number that is 0 everywhere says as little as none: sites without energy metering have zeros.
  Status find();
  /// Needs of a report that nothing fills.
  std::vector<std::string> missing(const ReportSpec& spec) const;

 private:
  duck::Connection& connection_;
  const ViewOrder& views_;
  std::set<std::string> needed_, present_;
};

/// Why a report is left out, in words: what no job has, and what else was never brought into the store.
std::string why_left_out(const Document& document, const std::vector<std::string>& lacks);

}  // namespace sickbay::workload
