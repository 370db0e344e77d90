// SPDX-License-Identifier: Apache-2.0
// A report from the words of whoever wants it: which plug-ins, which jobs, in whose words, on which store.
//
// In this order, so that what is wrong with the words is told before minutes of work: load_catalog,
// load_site, choose_reports, plan_report, then (perhaps after an import) make_report.  Nothing here prints.
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/report/catalog.h"
#include "workload/report/period.h"
#include "workload/report/run.h"
#include "workload/report/site.h"

namespace sickbay::workload {

/// The site's files: `site_file` (empty: the shipped defaults), and `users_file` and `accounts_file`, else
/// those that the site's names, beside it.  Errors: not_found, denied, bad_input with file:line:column.
Result<Site> load_site(const std::string& site_file, const std::string& users_file,
                       const std::string& accounts_file = {});

/// Which reports, by name (all where none is named), and their parameters ("plugin.report.name" -> value),
/// which go before the site's.
struct ReportChoice {
  std::vector<std::string> plugins, reports;
  std::vector<std::pair<std::string, std::string>> parameters;
};
/// Errors: not_found with what was meant, bad_input.
Result<std::vector<Plugin>> choose_reports(const Catalog& catalog, const Site& site,
                                           const ReportChoice& choice);

/// What somebody wants of the report; what is empty is the site's, else the house's.
struct ReportWishes {
  std::vector<std::string> folders;  ///< of plug-ins, whose translations are used
  PeriodWords period;
  Filter filter;  ///< its times come from `period`
  std::string title, language, time_zone;
  std::chrono::milliseconds time_limit{60'000};  ///< of each report
  int threads = 0;
  std::string made_at, version;  ///< for the foot of the page
  RunProgram run_program;        ///< may be empty: executables are left out
};
/// Errors: usage (times), bad_input (the zone), not_found (the language).
Result<RunOrder> plan_report(std::vector<Plugin> plugins, const Site& site, const ReportWishes& wishes,
                             TimePoint now);

/// The store at `store_path`, read only and without a way to files or the network.  Errors: as Store::open.
Result<Store> open_for_reports(const std::string& store_path, int threads);

/// The document of the store at `store_path`, which is only read.  Errors: as Store::open, as make_document.
Result<Document> make_report(const std::string& store_path, RunOrder order, int threads);

}  // namespace sickbay::workload
