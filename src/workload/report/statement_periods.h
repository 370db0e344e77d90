// SPDX-License-Identifier: Apache-2.0
// The days, weeks, months, quarters and years that a time is cut into for statements, in the zone of the
// report.  Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "workload/job/time_zone.h"

namespace sickbay::workload {

enum class StatementUnit : std::uint8_t { day, week, month, quarter, year };

/// "day", "week" (from Monday), "month", "quarter", "year".  Errors: usage.
Result<StatementUnit> parse_statement_unit(std::string_view word);

/// One of them, or the part of it that was asked for.
struct StatementPeriod {
  std::string name;  ///< "2021-05-01", "2021-W18" (ISO 8601), "2021-05", "2021-Q2", "2021"
  TimePoint from{}, to{};
};

/// Those that lie in [from, to), in their order; the first and the last are cut, so that they add up to it.
/// Without `from`: the last whole one before `now`; without `to`: up to its end.
/// Errors: usage (a `to` without `from`, nothing between them).
Result<std::vector<StatementPeriod>> statement_periods(StatementUnit unit, std::optional<TimePoint> from,
                                                       std::optional<TimePoint> to, const TimeZone& zone,
                                                       TimePoint now);

}  // namespace sickbay::workload
