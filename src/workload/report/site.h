// SPDX-License-Identifier: Apache-2.0
// Site configuration of reports: classes of size and run time, what counts as debugging, who the users are,
// how accounts stand and what is charged (doc/formats/site.md).
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/report/accounts.h"
#include "workload/report/charges.h"

namespace sickbay::workload {

/// Values up to `most`, which is itself in the class; the last class of a list has none.
struct SiteClass {
  std::string name;
  std::int64_t most = -1;  ///< cores, or seconds; -1: no bound
};

struct SiteUser {
  std::string user, name, team, research_field;
};

struct Site {
  std::string title;      ///< of the page; empty: the page's own
  std::string time_zone;  ///< IANA name; empty: none said
  std::string language;   ///< "en"; empty: none said
  std::vector<SiteClass> size_classes, run_time_classes;
  std::chrono::seconds debug_length{1800};  ///< jobs shorter than this are debugging
  std::string users_file, accounts_file;    ///< as written; relative to the file that names them
  std::vector<std::pair<std::string, std::string>> parameters;  ///< "plugin.report.name" -> value
  std::vector<SiteUser> users;
  std::vector<SiteAccount> accounts;
  Charges charges;
};

/// The shipped defaults.
Site default_site();
/// site.json laid over the defaults.  Errors: bad_input with file:line:column.
Result<Site> parse_site(std::string_view text, const std::string& source);
/// users.json.  Errors: bad_input with file:line:column.
Result<std::vector<SiteUser>> parse_users(std::string_view text, const std::string& source);

}  // namespace sickbay::workload
