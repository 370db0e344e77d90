// SPDX-License-Identifier: Apache-2.0
// Days since 1970-01-01 of a date, checked.  std::chrono's does the same in twice the instructions, with its
// checks apart.
#pragma once
#include <array>
#include <cstdint>

namespace sickbay::workload {

/// The Gregorian calendar for every year.
constexpr std::int64_t days_of_year_start(std::int64_t year) {
  const std::int64_t y = year - 1;
  const auto floored = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  return 365 * (year - 1970) + (floored(y, 4) - 492) - (floored(y, 100) - 19) + (floored(y, 400) - 4);
}
constexpr bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/// False for no such date.  `year` is not negative.
constexpr bool civil_days(unsigned year, unsigned month, unsigned day, std::int64_t& days) {
  constexpr std::array<std::uint16_t, 14> kBefore = {0,   0,   31,  59,  90,  120, 151,
                                                     181, 212, 243, 273, 304, 334, 365};
  if (month - 1 > 11) return false;
  const bool leap = is_leap(year);
  const unsigned length = kBefore[month + 1] - kBefore[month] + (leap && month == 2 ? 1U : 0U);
  if (day - 1 >= length) return false;
  days = days_of_year_start(year) + kBefore[month] + (leap && month > 2 ? 1 : 0) + day - 1;
  return true;
}
static_assert(days_of_year_start(1970) == 0 && days_of_year_start(2000) == 10957 &&
              days_of_year_start(2024) == 19723);

}  // namespace sickbay::workload
