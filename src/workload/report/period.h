// SPDX-License-Identifier: Apache-2.0
// Times of a report as people write them, in the report's zone.
#pragma once
#include <optional>
#include <string>

#include "base/time.h"
#include "workload/job/values.h"
#include "workload/report/views.h"

namespace sickbay::workload {

/// "2021-05-01", "2021-05", "2021", "2021-05-01T10:00[:00]" in the zone, or a length before now: "30d".
/// Errors: usage.
Result<TimePoint> parse_report_time(const std::string& text, const TimeZone& zone, TimePoint now);

/// "FROM..TO", or "previous": as long as from..to, and just before it.  Errors: usage.
Result<Period> parse_comparison(const std::string& text, const Filter& filter, const TimeZone& zone,
                                TimePoint now);

/// The period of a report in words; empty: not said.
struct PeriodWords {
  std::string from, to, compare;
};
/// Puts them, and the zone, into `views`.  Errors: usage.
Status set_period(const PeriodWords& words, const TimeZone& zone, TimePoint now, ViewOrder& views);

}  // namespace sickbay::workload
