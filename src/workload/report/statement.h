// SPDX-License-Identifier: Apache-2.0
// Statements: what each account (or user, group, team, field) used in each day, week, month ..., one document
// each, to be mailed or put where its people find it.
//
// They stand on the view j of all reports, so an hour is what it is there: the part of the run within the
// period (in_period.h).  Amounts are summed as decimals of nine places, so sums do not depend on the order
// of rows or on threads: equal jobs give equal files, and the statements of a period add up to it. Invariant:
// nothing in a document tells when, where or from which files it was made.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "workload/report/run.h"
#include "workload/report/statement_periods.h"

namespace sickbay::workload {

/// For whom a statement is: "account", "user", "group" (of the log), "team", "field" (of the site's users).
enum class StatementOf : std::uint8_t { account, user, group, team, field };
/// Errors: usage.
Result<StatementOf> parse_statement_of(std::string_view word);

struct StatementOrder {
  StatementUnit unit = StatementUnit::month;
  StatementOf of = StatementOf::account;
  RunOrder run;  ///< plan_report()'s, without plug-ins; its period is what is cut
};

/// One document and where it belongs.
struct Statement {
  std::string period;  ///< StatementPeriod::name
  std::string file;    ///< statement_file_name(); "_index" for the list of a period
  std::reference_wrapper<const Document> document;
};
using TakeStatement = std::function<Status(const Statement&)>;

/// A name for files of `name` (nothing: the jobs that have none), without ending: no two names of a site
/// share one, also where upper and lower case are one.  What is not plain (lower-case letters, digits, '-',
/// '_') is written as '-', with a digest of the name behind it.
std::string statement_file_name(const std::optional<std::string>& name);

/// Makes the statements of the store at `store_path`, which is only read, period by period and in the order
/// of names, each period's list ("_index": whose, file, figures) last; gives each to `take`.  Who used
/// nothing in a period, and no job of whom ended in it, gets none; a period without any has no list. Errors:
/// usage (periods), not_found where no job fits at all, those of the store and of `take`.
Status make_statements(const std::string& store_path, const StatementOrder& order, const TimeZone& zone,
                       TimePoint now, int threads, const TakeStatement& take);

}  // namespace sickbay::workload
