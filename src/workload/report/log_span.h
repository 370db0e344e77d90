// SPDX-License-Identifier: Apache-2.0
// The span of a log: from its first record to its last, for a report that is asked for no period.
//
// A record is written when a job ends, so the first end begins the span, not the oldest submission: a log of
// 92 days has jobs that were submitted months before it.  Where jobs began about as often before the first
// end as later, the log begins with their starts.  A job far from all others (a clock that stood at 1970) is
// a stray: it counts, and is told of, and lengthens nothing. Invariant: strays are at most 1 % of the jobs at
// each end (of three and more jobs at least one may be).
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "adapters/duckdb/database.h"
#include "base/result.h"
#include "base/time.h"

namespace sickbay::workload {

/// The jobs whose last known event (end, else start, else submission) lies on one day.
struct RecordDay {
  std::int64_t jobs = 0;
  TimePoint first{}, last{};           ///< of these events
  std::optional<TimePoint> first_end;  ///< of those that are ends
};

struct LogSpan {
  std::optional<TimePoint> first, last;            ///< of the records; none: no job has a time
  std::optional<TimePoint> from_here, up_to_here;  ///< records before and after these are strays
  std::int64_t strays = 0;
  std::optional<TimePoint> earliest, latest;  ///< of all times, also of strays and of submissions
};

/// The span of days in their order, without what is known of starts.  Pure.
LogSpan span_of(std::span<const RecordDay> days);

/// The span of what the store holds.  Jobs whose times are in the future of their import are no part of it.
Result<LogSpan> log_span(duck::Connection& connection);
/// Only its `earliest` and `latest`, for a fraction of the time.
Result<LogSpan> log_limits(duck::Connection& connection);

}  // namespace sickbay::workload
