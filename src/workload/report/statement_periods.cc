// SPDX-License-Identifier: Apache-2.0
#include "workload/report/statement_periods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

using std::chrono::days;
using std::chrono::months;
using std::chrono::sys_days;
using std::chrono::year_month_day;
using std::chrono::years;

constexpr std::size_t kMost = 5000;  // days of 13 years; more is a slip of the pen
constexpr auto kPeriods = std::to_array<std::string_view>({"day", "week", "month", "quarter", "year"});

// The date that a calendar in the zone shows.
sys_days local_day(TimePoint t, const TimeZone& zone) {
  const std::int64_t utc = to_unix_seconds(t);
  std::int64_t offset = zone.changes().empty() ? 0 : zone.changes().front().offset;
  for (const TimeZone::Change& change : zone.changes())
    if (change.at <= utc) offset = change.offset;
  return std::chrono::floor<days>(std::chrono::sys_seconds(std::chrono::seconds(utc + offset)));
}

TimePoint midnight(sys_days day, const TimeZone& zone) {
  return from_unix_seconds(zone.to_utc(std::chrono::sys_seconds(day).time_since_epoch().count()));
}

// Monday is 0.
unsigned weekday_of(sys_days day) { return std::chrono::weekday(day).iso_encoding() - 1; }

sys_days first_of(StatementUnit unit, sys_days day) {
  const year_month_day date(day);
  const unsigned month = static_cast<unsigned>(date.month());
  switch (unit) {
    case StatementUnit::day:
      return day;
    case StatementUnit::week:
      return day - days(weekday_of(day));
    case StatementUnit::month:
      return sys_days(date.year() / date.month() / 1);
    case StatementUnit::quarter:
      return sys_days(date.year() / std::chrono::month((month - 1) / 3 * 3 + 1) / 1);
    case StatementUnit::year:
      return sys_days(date.year() / 1 / 1);
  }
  return day;
}

// `first` begins a unit.
sys_days next_of(StatementUnit unit, sys_days first) {
  const year_month_day date(first);
  switch (unit) {
    case StatementUnit::day:
      return first + days(1);
    case StatementUnit::week:
      return first + days(7);
    case StatementUnit::month:
      return sys_days(date + months(1));
    case StatementUnit::quarter:
      return sys_days(date + months(3));
    case StatementUnit::year:
      return sys_days(date + years(1));
  }
  return first + days(1);
}

std::string name_of(StatementUnit unit, sys_days first) {
  const year_month_day date(first);
  const int year = static_cast<int>(date.year());
  const unsigned month = static_cast<unsigned>(date.month()), day = static_cast<unsigned>(date.day());
  switch (unit) {
    case StatementUnit::day:
      return fmt::format("{:04}-{:02}-{:02}", year, month, day);
    case StatementUnit::week: {
      // A week is of the year that its Thursday is of.
      const sys_days thursday = first + days(3);
      const auto of = year_month_day(thursday).year();
      const auto number = (thursday - sys_days(of / 1 / 1)).count() / 7 + 1;
      return fmt::format("{:04}-W{:02}", static_cast<int>(of), number);
    }
    case StatementUnit::month:
      return fmt::format("{:04}-{:02}", year, month);
    case StatementUnit::quarter:
      return fmt::format("{:04}-Q{}", year, (month - 1) / 3 + 1);
    case StatementUnit::year:
      return fmt::format("{:04}", year);
  }
  return {};
}

}  // namespace

Result<StatementUnit> parse_statement_unit(std::string_view word) {
  for (std::size_t i = 0; i < kPeriods.size(); ++i)
    if (word == kPeriods[i]) return static_cast<StatementUnit>(i);
  const std::string meant = did_you_mean(word, kPeriods);
  return fail(Error(ErrorCode::usage, fmt::format("there is no statement of a {}", quote_for_message(word)))
                  .remedied_by(meant.empty() ? "write day, week, month, quarter or year"
                                             : fmt::format("did you mean '{}'?", meant)));
}

Result<std::vector<StatementPeriod>> statement_periods(StatementUnit unit, std::optional<TimePoint> from,
                                                       std::optional<TimePoint> to, const TimeZone& zone,
                                                       TimePoint now) {
  if (to && !from)
    return fail(Error(ErrorCode::usage, "statements up to --to need --from")
                    .remedied_by("give both, or neither for the last whole one"));
  const sys_days this_one = first_of(unit, local_day(now, zone));
  if (!from) from = midnight(first_of(unit, this_one - days(1)), zone);
  if (!to) to = midnight(this_one, zone);
  if (*to <= *from)
    return fail(Error(ErrorCode::usage,
                      fmt::format("no {} from --from on is over", kPeriods[static_cast<std::size_t>(unit)]))
                    .remedied_by("name its end with --to, or an earlier --from"));
  std::vector<StatementPeriod> periods;
  for (sys_days day = first_of(unit, local_day(*from, zone)); midnight(day, zone) < *to;) {
    if (periods.size() == kMost)
      return fail(Error(ErrorCode::usage, fmt::format("these are more than {} periods", kMost))
                      .remedied_by("ask for less time, or for longer periods"));
    const sys_days next = next_of(unit, day);
    const TimePoint begin = std::max(*from, midnight(day, zone)), end = std::min(*to, midnight(next, zone));
    if (begin < end) periods.push_back({name_of(unit, day), begin, end});
    day = next;
  }
  return periods;
}

}  // namespace sickbay::workload
