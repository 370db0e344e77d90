// SPDX-License-Identifier: Apache-2.0
// Time as the journal keeps it: UTC, whole microseconds since 1970 (doc/design/decisions.md 10).
//
// No function here reads a clock: `now` comes in through ports/loop.h, so that engines replay alike.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace sickbay {

using Micros = std::chrono::microseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Micros>;

inline constexpr TimePoint kNever = TimePoint::max();  ///< a timer that is not set
inline constexpr TimePoint kNoTime = TimePoint(Micros(0));

inline std::int64_t to_micros(TimePoint t) { return t.time_since_epoch().count(); }
inline TimePoint from_micros(std::int64_t us) { return TimePoint(Micros(us)); }
inline TimePoint from_unix_seconds(std::int64_t s) { return TimePoint(std::chrono::seconds(s)); }
inline std::int64_t to_unix_seconds(TimePoint t) {
  return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
}

/// "2026-11-21T09:30:53.000001Z"; the fraction is left out where it is 0.  Source: RFC 3339.
std::string format_time(TimePoint t);
/// "09:30:53", UTC: for lines that are read as they come.
std::string format_clock(TimePoint t);
/// The reverse of format_time.  Errors: bad_input.
Result<TimePoint> parse_time(std::string_view text);

}  // namespace sickbay
