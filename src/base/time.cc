// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <fmt/format.h>

#include <charconv>

namespace sickbay {
namespace {

struct Parts {
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0, second = 0, micros = 0;
};

Parts split(TimePoint t) {
  using namespace std::chrono;
  const auto midnight = floor<days>(t);
  const year_month_day date(midnight);
  const hh_mm_ss clock(t - midnight);
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(clock.subseconds().count())};
}

// The `width` digits at text[at]; -1 where they are not all digits.
int digits(std::string_view text, std::size_t at, std::size_t width) {
  if (at + width > text.size()) return -1;
  int value = 0;
  for (std::size_t i = at; i < at + width; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

}  // namespace

std::string format_time(TimePoint t) {
  const Parts p = split(t);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", p.year, p.month, p.day, p.hour, p.minute, p.second);
  if (p.micros != 0) text += fmt::format(".{:06}", p.micros);
  return text + "Z";
}

std::string format_clock(TimePoint t) {
  const Parts p = split(t);
  return fmt::format("{:02}:{:02}:{:02}", p.hour, p.minute, p.second);
}

Result<TimePoint> parse_time(std::string_view text) {
  using namespace std::chrono;
  const auto bad = [&] {
    return fail(ErrorCode::bad_input,
                fmt::format("'{}' is not a time like 2026-11-21T09:30:53Z", text.substr(0, 40)));
  };
  const int y = digits(text, 0, 4), mo = digits(text, 5, 2), d = digits(text, 8, 2);
  const int h = digits(text, 11, 2), mi = digits(text, 14, 2), s = digits(text, 17, 2);
  if (y < 0 || mo < 0 || d < 0 || h < 0 || mi < 0 || s < 0 || h > 23 || mi > 59 || s > 59) return bad();
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return bad();
  std::size_t at = 19;
  int micros = 0;
  if (at < text.size() && text[at] == '.') {
    // Six digits and no other number, as format_time() writes them: one form, one text.
    micros = digits(text, at + 1, 6);
    if (micros < 0) return bad();
    at += 7;
  }
  if (text.substr(at) != "Z") return bad();
  const year_month_day date(year(y), month(static_cast<unsigned>(mo)), day(static_cast<unsigned>(d)));
  // (30 February.)
  if (!date.ok()) return bad();
  return TimePoint(sys_days(date)) + hours(h) + minutes(mi) + seconds(s) + Micros(micros);
}

}  // namespace sickbay
