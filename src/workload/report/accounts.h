// SPDX-License-Identifier: Apache-2.0
// The accounts of a site: which stand under which, who leads them, and what they may use.
//
// They come from accounts.json or from what `sacctmgr dump` writes (doc/formats/site.md).  SQL of reports has
// them as the tables `accounts` and `account_tree`.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::workload {

struct SiteAccount {
  std::string account, parent;  ///< no parent: the top, or one under Slurm's `root`
  std::string pi;               ///< who leads it; empty: who leads the one above
  std::optional<double> budget;
  std::string budget_of = "SU";  ///< SU, core-h, GPU-h or node-h
  /// What it is for, as days of the report's zone ("2026-01-01"): from the first on, up to the second, which
  /// is out of it.  Empty: from ever, for ever.
  std::string since, until;
};

/// accounts.json, or the text of `sacctmgr dump`, told apart by the content.  An account that only stands as
/// somebody's parent is one, too.
/// Errors: bad_input with the file and the line (and, of JSON, the column): an unknown key or unit, a day
/// that is none, accounts in a ring.
Result<std::vector<SiteAccount>> parse_accounts(std::string_view text, const std::string& source);

/// Statements that make the tables (doc/formats/report.md).  `accounts` are as parse_accounts() gives them.
std::string accounts_sql(const std::vector<SiteAccount>& accounts);

}  // namespace sickbay::workload
