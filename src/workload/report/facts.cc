// SPDX-License-Identifier: Apache-2.0
#include "workload/report/facts.h"

#include <fmt/format.h>

#include "workload/report/render.h"

namespace sickbay::workload {
namespace {

using duck::Connection;

// Where no period was asked for, all of the log counts: what of it lies outside of its span, and which jobs
// are strays.
Status add_outside(Connection& connection, Document& document) {
  auto outside = connection.query(
      "SELECT count(*) FILTER (WHERE record < begins OR record >= ends), coalesce(sum(core_h * (1 - greatest("
      "epoch_us(least(run_ends, ends)) - epoch_us(greatest(run_begins, begins)), 0)::DOUBLE / "
      "(epoch_us(run_ends) - epoch_us(run_begins)))), 0)::DOUBLE, any_value(strays) FROM (SELECT *, "
      "coalesce(end_local, start_local, submit_local) AS record FROM j), period, span_of_log");
  if (!outside) return fail(std::move(outside.error()).in("looking for jobs outside of the span of the log"));
  const auto& row = outside->rows.at(0);
  const auto jobs = std::get<std::int64_t>(row[0]);
  const double hours = duck::is_null(row[1]) ? 0 : std::get<double>(row[1]);
  const auto number = [&](const duck::Value& value, duck::Type type, const char* unit) {
    return value_text(document, value, type, unit);
  };
  if (jobs > 0 || hours >= 0.5)
    document.facts.emplace_back(
        message(document, "fact.outside", "Outside of it"),
        filled(filled(message(document, "page.outside",
                              "jobs that ended there: {}; core-hours: {}; they count in all tables but those "
                              "by day or month"),
                      number(row[0], duck::Type::integer, "jobs")),
               number(hours, duck::Type::real, "core-h")));
  if (!duck::is_null(row[2]) && std::get<std::int64_t>(row[2]) > 0)
    document.facts.emplace_back(
        message(document, "fact.strays", "Jobs far from all others"),
        filled(message(document, "page.strays",
                       "{}, which do not lengthen the period; see the quality of the data"),
               number(row[2], duck::Type::integer, "jobs")));
  return {};
}

}  // namespace

Result<std::string> period_text(Connection& connection, const Document& document, const char* table,
                                bool asked) {
  auto period = connection.query(fmt::format("SELECT begins, ends, days FROM {}", table));
  if (!period) return fail(period.error());
  const auto& row = period->rows.at(0);
  if (duck::is_null(row[0])) return std::string();
  const auto text = [&](std::size_t i, duck::Type type) { return value_text(document, row[i], type, ""); };
  return filled(filled(filled(asked ? message(document, "page.period_text", "{} to {} ({} days)")
                                    : message(document, "page.period_of_log",
                                              "{} to {} ({} days), the span of the log"),
                              text(0, duck::Type::time)),
                       text(1, duck::Type::time)),
                text(2, duck::Type::real));
}

Status add_facts(Connection& connection, const RunOrder& order, std::int64_t jobs, Document& document) {
  const auto fact = [&](const char* key, const char* english, std::string text) {
    if (!text.empty())
      document.facts.emplace_back(message(document, std::string("fact.") + key, english), std::move(text));
  };
  const Filter& filter = order.views.filter;
  const bool asked = filter.from || filter.to;
  auto period = period_text(connection, document, "period", asked);
  if (!period) return fail(period.error());
  fact("period", "Period", *period);
  if (!asked && !period->empty())
    if (auto added = add_outside(connection, document); !added) return added;
  auto second = period_text(connection, document, "period2", true);
  if (!second) return fail(second.error());
  fact("compared", "Compared with", *second);
  fact(asked ? "jobs_ended" : "jobs", asked ? "Jobs that ended" : "Jobs",
       value_text(document, jobs, duck::Type::integer, "jobs"));
  fact("filter", "Only", describe_filter(order.views.filter));
  if (order.views.filter.like)
    fact("like", "Labels by likeness too, from",
         value_text(document, 100 * *order.views.filter.like, duck::Type::real, "%"));
  auto sources =
      connection.query("SELECT source, count(*) OVER () FROM imports ORDER BY imported_at, source LIMIT 5");
  if (!sources) return fail(sources.error());
  std::string names;
  for (const auto& row : sources->rows)
    if (const auto* name = std::get_if<std::string>(&row[0])) names += (names.empty() ? "" : ", ") + *name;
  if (sources->rows.size() == 5 && std::get<std::int64_t>(sources->rows[0][1]) > 5)
    names += filled(message(document, "page.and_more", " and {} more"),
                    std::to_string(std::get<std::int64_t>(sources->rows[0][1]) - 5));
  fact("sources", "Sources", names);
  fact("zone", "Time zone", order.time_zone);
  return {};
}

Error no_job_fits(Connection& connection, const RunOrder& order) {
  Error error(ErrorCode::not_found, "no job fits");
  if (auto sentences = unknown_filter_values(connection, order.views.filter); sentences)
    for (const std::string& sentence : *sentences)
      error.cause += (error.cause.empty() ? "" : "; ") + sentence;
  auto held = connection.query(
      "SELECT CAST(min(submit_time) AS VARCHAR), CAST(max(submit_time) AS VARCHAR), count(*) FROM jobs");
  if (held && std::get<std::int64_t>(held->rows[0][2]) == 0)
    error.cause = "the store holds no job", error.remedy_text = "import a log first: 'sickbay import'";
  else if (held && !duck::is_null(held->rows[0][0]))
    error.remedy_text =
        fmt::format("ask for less; the store's jobs were submitted from {} to {} (UTC)",
                    std::get<std::string>(held->rows[0][0]), std::get<std::string>(held->rows[0][1]));
  return error;
}

}  // namespace sickbay::workload
