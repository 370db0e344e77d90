// SPDX-License-Identifier: Apache-2.0
#include "workload/report/log_span.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "workload/job/fields.h"

namespace sickbay::workload {
namespace {

constexpr std::chrono::hours kOneDay(24);

std::optional<TimePoint> time_of(const duck::Value& value) {
  const auto* micros = std::get_if<std::int64_t>(&value);
  return micros ? std::optional(from_micros(*micros)) : std::nullopt;
}

// How far a record lies from the next to be a stray.
Micros stray_gap(std::span<const RecordDay> days, std::int64_t jobs, std::int64_t most) {
  if (jobs < 100) return 365 * kOneDay;  // a few jobs may well be months apart
  // The length of what is left when as many as may be strays are not looked at.
  const auto at = [&](std::int64_t place) {
    for (const RecordDay& day : days)
      if ((place -= day.jobs) < 0) return day.first;
    return days.back().first;
  };
  return std::clamp<Micros>((at(jobs - 1 - most) - at(most)) / 2, 30 * kOneDay, 365 * kOneDay);
}

}  // namespace

LogSpan span_of(std::span<const RecordDay> days) {
  LogSpan span;
  if (days.empty()) return span;
  std::int64_t jobs = 0;
  for (const RecordDay& day : days) jobs += day.jobs;
  const std::int64_t most = jobs < 3 ? 0 : std::max<std::int64_t>(1, jobs / 100);
  const Micros gap = stray_gap(days, jobs, most);
  std::size_t begin = 0, end = days.size();
  std::int64_t before = 0, behind = 0;
  for (std::size_t i = 0; i + 1 < days.size() && (before += days[i].jobs) <= most; ++i)
    if (days[i + 1].first - days[i].last > gap) begin = i + 1;
  for (std::size_t i = days.size() - 1; i > begin && (behind += days[i].jobs) <= most; --i)
    if (days[i].first - days[i - 1].last > gap) end = i;
  for (std::size_t i = 0; i < days.size(); ++i)
    if (i < begin || i >= end) span.strays += days[i].jobs;
  const auto kept = days.subspan(begin, end - begin);
  if (begin > 0) span.from_here = kept.front().first;
  if (end < days.size()) span.up_to_here = kept.back().last;
  span.last = kept.back().last;
  for (const RecordDay& day : kept)
    if (day.first_end) {
      span.first = day.first_end;
      break;
    }
  if (!span.first) span.first = kept.front().first;
  return span;
}

Result<LogSpan> log_limits(duck::Connection& connection) {
  auto found = connection.query(
      "SELECT epoch_us(least(min(submit_time), min(start_time), min(end_time))), "
      "epoch_us(greatest(max(submit_time), max(start_time), max(end_time))) FROM jobs");
  if (!found) return fail(std::move(found.error()).in("looking for the times of the jobs"));
  LogSpan span;
  span.earliest = time_of(found->rows[0][0]), span.latest = time_of(found->rows[0][1]);
  return span;
}

Result<LogSpan> log_span(duck::Connection& connection) {
  const std::string sound = fmt::format("coalesce(flaws, 0) & {} = 0", bit(Flaw::in_future));
  // A job without an end is a record only where no job has one: it may run since long before the log.
  auto found = connection.query(fmt::format(
      R"(WITH t AS NOT MATERIALIZED (SELECT end_time, coalesce(start_time, submit_time) AS begun FROM jobs WHERE {0})
SELECT count(*), epoch_us(min(t)), epoch_us(max(t)), epoch_us(min(end_time))
FROM (SELECT CASE WHEN (SELECT count(end_time) FROM t) > 0 THEN end_time ELSE begun END AS t, end_time FROM t)
WHERE t IS NOT NULL GROUP BY date_trunc('day', t) ORDER BY min(t))",
      sound));
  if (!found) return fail(std::move(found.error()).in("looking for the times of the jobs"));
  std::vector<RecordDay> days;
  for (const auto& row : found->rows)
    days.push_back({std::get<std::int64_t>(row[0]), *time_of(row[1]), *time_of(row[2]), time_of(row[3])});
  LogSpan span = span_of(days);
  auto limits = log_limits(connection);
  if (!limits) return limits;
  span.earliest = limits->earliest, span.latest = limits->latest;
  if (!span.first) return span;

  const auto literal = [](TimePoint t) { return fmt::format("make_timestamp({})", to_micros(t)); };
  const std::string first = literal(*span.first), last = literal(*span.last);
  // The last few of a log of long jobs, or of one that is a sample, end months after all others: up to 1 % of
  // the jobs may end over a day after the newest submission.
  // Before the first end a log may have starts: as far back as at least half as many jobs began as on
  // average.
  auto edges = connection.query(fmt::format(
      R"(WITH t AS NOT MATERIALIZED (
  SELECT submit_time, start_time, coalesce(end_time, start_time, submit_time) AS record FROM jobs
  WHERE {0} AND coalesce(end_time, start_time, submit_time) BETWEEN {3} AND {4}
),
late AS (SELECT max(submit_time) + INTERVAL 1 DAY AS day FROM t),
starts AS (
  SELECT start_time AS s, row_number() OVER (ORDER BY start_time DESC) AS k FROM t
  WHERE start_time <= {1} AND start_time > {1} - INTERVAL 365 DAY
),
mean AS (SELECT (SELECT count(*) FROM t) / (epoch_us({2}) - epoch_us(min(s)) + 1)::DOUBLE AS starts_per_us FROM starts)
SELECT (SELECT epoch_us(CASE WHEN 100 * count(*) FILTER (WHERE record > day) <= count(*)
                        THEN max(record) FILTER (WHERE record <= day) END) FROM t, late),
       (SELECT epoch_us(max(coalesce(start_time, submit_time))) FROM jobs
        WHERE end_time IS NULL AND {0} AND coalesce(start_time, submit_time) BETWEEN {2} AND {2} + INTERVAL 30 DAY),
       (SELECT epoch_us(min(s)) FROM starts, mean WHERE k >= 0.5 * starts_per_us * (epoch_us({1}) - epoch_us(s))))",
      sound, first, last, span.from_here ? literal(*span.from_here) : "TIMESTAMP '-infinity'",
      span.up_to_here ? literal(*span.up_to_here) : "TIMESTAMP 'infinity'"));
  if (!edges) return fail(std::move(edges.error()).in("looking for the span of the log"));
  if (const auto end = time_of(edges->rows[0][0])) span.last = std::max(*end, *span.first);
  if (const auto begun = time_of(edges->rows[0][1])) span.last = std::max(*begun, *span.last);
  if (const auto start = time_of(edges->rows[0][2])) span.first = std::min(*start, *span.first);
  return span;
}

}  // namespace sickbay::workload
