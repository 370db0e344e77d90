// SPDX-License-Identifier: Apache-2.0
#include "workload/report/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "workload/report/messages.h"
#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

// What a need names: "a|b" is filled by either.
std::vector<std::string_view> alternatives(std::string_view need) {
  std::vector<std::string_view> columns;
  for (;;) {
    const std::size_t bar = need.find('|');
    columns.push_back(need.substr(0, bar));
    if (bar == need.npos) return columns;
    need.remove_prefix(bar + 1);
  }
}

}  // namespace

Coverage::Coverage(duck::Connection& connection, const ViewOrder& views, const std::vector<Plugin>& plugins)
    : connection_(connection), views_(views) {
  for (const Plugin& plugin : plugins)
    for (const ReportSpec& spec : plugin.reports)
      for (const std::string& need : spec.needs)
        for (const std::string_view column : alternatives(need)) needed_.emplace(column);
}

Status Coverage::find() {
  auto types = connection_.query("SELECT column_name, column_type FROM (DESCRIBE j)");
  if (!types) return fail(types.error());
  std::map<std::string, std::string> type_of;
  for (const auto& row : types->rows) type_of[std::get<std::string>(row[0])] = std::get<std::string>(row[1]);
  // (One EXISTS for each in one SELECT is planned as a join of them all.)
  std::string sql;
  for (const std::string& column : needed_) {
    const std::size_t dot = column.find('.');
    const bool of_jobs = dot == column.npos;
    const std::set<std::string> only = {column};
    const std::string table = of_jobs ? "(" + job_select_sql(views_, &only) + ")" : column.substr(0, dot);
    const std::string name = '"' + (of_jobs ? column : column.substr(dot + 1)) + '"';
    const std::string type = of_jobs ? type_of[column] : "";
    const bool number = type == "BIGINT" || type == "DOUBLE" || type == "INTEGER";
    const std::string says = number ? " AND " + name + " <> 0" : type == "BOOLEAN" ? " AND " + name : "";
    sql += fmt::format("{}(SELECT {} FROM {} WHERE {} IS NOT NULL{} LIMIT 1)",
                       sql.empty() ? "" : "\nUNION ALL ", duck::quote(column), table, name, says);
  }
  if (sql.empty()) return {};
  auto found = connection_.query(sql);
  if (!found) return fail(found.error());
  for (const auto& row : found->rows) present_.insert(std::get<std::string>(row[0]));
  return {};
}

std::vector<std::string> Coverage::missing(const ReportSpec& spec) const {
  std::vector<std::string> names;
  for (const std::string& need : spec.needs) {
    const auto all = alternatives(need);
    if (std::none_of(all.begin(), all.end(),
                     [&](std::string_view column) { return present_.contains(std::string(column)); }))
      names.push_back(need);
  }
  return names;
}

std::string why_left_out(const Document& document, const std::vector<std::string>& lacks) {
  struct Reason {
    std::string_view table, key, english;
  };
  static constexpr Reason kTables[] = {
      {"nodes.", "page.lacks_nodes", "the store has no sizes of nodes (sickbay import --nodes)"},
      {"node_events.", "page.lacks_events", "the store has no node events (sickbay import --events)"},
      {"job_failures.", "page.lacks_journal",
       "the store knows of no failure of a job that Sickbay follows (sickbay import --journal)"},
      {"job_checkpoints.", "page.lacks_journal",
       "the store knows of no failure of a job that Sickbay follows (sickbay import --journal)"},
      {"users.", "page.lacks_users", "no users.json names the users"},
      {"accounts.budget", "page.lacks_budgets",
       "no account has a budget (\"accounts\" of site.json, --accounts-file)"},
      {"period2.", "page.lacks_period2", "no second period was asked for (--compare)"}};
  std::string columns, why;
  for (const std::string& need : lacks) {
    const auto* row = std::find_if(std::begin(kTables), std::end(kTables),
                                   [&](const Reason& r) { return need.starts_with(r.table); });
    if (row == std::end(kTables)) {
      for (const char c : (columns.empty() ? "" : ", ") + need)
        columns += c == '|' ? std::string(" / ") : std::string(1, c);
      continue;
    }
    const std::string text(message(document, row->key, row->english));
    if (why.find(text) == why.npos) why += (why.empty() ? "" : "; ") + text;
  }
  if (!columns.empty()) {
    const std::string text = filled(message(document, "page.lacks", "no job here has {}"), columns);
    why = why.empty() ? text : text + "; " + why;
  }
  return why;
}

}  // namespace sickbay::workload
