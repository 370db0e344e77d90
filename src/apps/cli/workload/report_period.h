// SPDX-License-Identifier: Apache-2.0
// Times of a report as people write them, in the report's zone.
#pragma once
#include <optional>
#include <string>

#include "base/time.h"
#include "workload/read/values.h"
#include "workload/report/views.h"

namespace sickbay::cli {

/// "2021-05-01", "2021-05", "2021", "2021-05-01T10:00[:00]" in the zone, or a length before now: "30d".
/// Errors: usage.
Result<TimePoint> parse_report_time(const std::string& text, const workload::TimeZone& zone, TimePoint now);

/// "FROM..TO", or "previous": as long as from..to, and just before it.  Errors: usage.
Result<workload::Period> parse_comparison(const std::string& text, const workload::Filter& filter,
                                          const workload::TimeZone& zone, TimePoint now);

}  // namespace sickbay::cli
