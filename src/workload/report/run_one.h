// SPDX-License-Identifier: Apache-2.0
// One report: its SQL under limits of time and rows, or its executable; whatever goes wrong is in the result.
#pragma once
#include <string>

#include "workload/report/run.h"

namespace sickbay::workload {

/// Runs reports on one connection, for each of them with views of the columns that its SQL names.
class ReportRunner {
 public:
  /// `connection` has the views of views_sql(); both outlive this.
  ReportRunner(duck::Connection& connection, const RunOrder& order)
      : connection_(connection), order_(order) {}
  ReportResult run(const ReportSpec& spec);

 private:
  Status narrow(const ReportSpec& spec);
  Status widen();

  duck::Connection& connection_;
  const RunOrder& order_;
  bool narrowed_ = false;
};

/// An executable asks the store by a process of its own; `views` is the SQL that it is given for that.
ReportResult run_executable(const Plugin& plugin, const ReportSpec& spec, const RunOrder& order,
                            const std::string& views);

/// `result` as one of a report that failed.
ReportResult failed(ReportResult result, std::string why);

}  // namespace sickbay::workload
