// SPDX-License-Identifier: Apache-2.0
#include "base/duration.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>

#include "base/text.h"

namespace sickbay {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::int64_t kMicro = 1'000'000;
// Fields of at most this many digits: even as days they fit in 64 bits of seconds, so that the sums below
// cannot wrap before they are compared with their limit.
constexpr std::size_t kMaxFieldDigits = 12;

// D-A:B:C.fraction as it stands, before anybody says what A is.
struct Clock {
  bool has_days = false, has_fraction = false;
  std::int64_t days = 0;
  std::array<std::int64_t, 3> field{};
  std::size_t fields = 0;
  std::int64_t fraction = 0;  // microseconds
};

// Takes a number off the front of `text`.
bool take_number(std::string_view& text, std::int64_t& value) {
  std::size_t n = 0;
  value = 0;
  // One digit beyond the bound is read, which shows that there are too many.
  while (n < text.size() && is_digit(text[n]) && n <= kMaxFieldDigits) value = value * 10 + (text[n++] - '0');
  text.remove_prefix(n);
  return n > 0 && n <= kMaxFieldDigits;
}

bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

bool take_fraction(std::string_view& text, std::int64_t& micros) {
  std::size_t n = 0;
  micros = 0;
  for (; n < text.size() && n < 6 && is_digit(text[n]); ++n) micros = micros * 10 + (text[n] - '0');
  text.remove_prefix(n);
  // ".5" is half a second.
  for (std::size_t i = n; i < 6; ++i) micros *= 10;
  return n > 0;
}

// False where `text` is not of the form.
bool read_clock(std::string_view text, Clock& clock) {
  std::int64_t number = 0;
  if (!take_number(text, number)) return false;
  if (take_char(text, '-')) {
    clock.has_days = true;
    clock.days = number;
    if (!take_number(text, number)) return false;
  }
  clock.field[clock.fields++] = number;
  while (clock.fields < 3 && take_char(text, ':')) {
    if (!take_number(text, number)) return false;
    clock.field[clock.fields++] = number;
  }
  if (take_char(text, '.')) {
    clock.has_fraction = true;
    if (!take_fraction(text, clock.fraction)) return false;
  }
  return text.empty();
}

tl::unexpected<Error> refuse(std::string_view text, std::string_view what, std::string_view remedy) {
  return fail(Error(ErrorCode::bad_input, fmt::format("{} {}", quote_for_message(text), what))
                  .remedied_by(std::string(remedy)));
}

// "1-02:03:04" and "02:03:04".
std::string write_clock(std::int64_t s) {
  const std::int64_t days = s / 86400;
  const std::string clock = fmt::format("{:02}:{:02}:{:02}", s / 3600 % 24, s / 60 % 60, s % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

struct UnitRow {
  std::string_view name;
  std::int64_t micros;
  std::string_view for_people;
};
constexpr auto kUnits = std::to_array<UnitRow>({
    {"d", 86400 * kMicro, "d"},
    {"h", 3600 * kMicro, "h"},
    {"m", 60 * kMicro, "min"},
    {"s", kMicro, "s"},
    {"ms", 1000, "ms"},
    {"us", 1, "us"},
});

}  // namespace

Result<TimeLimit> parse_time_limit(std::string_view text) {
  for (const std::string_view word : {"UNLIMITED", "INFINITE", "-1"})
    if (equal_ignoring_case(text, word)) return TimeLimit::unlimited();
  // The word of scontrol and sacct for a job that asked for none: the partition's limit holds.
  if (equal_ignoring_case(text, "Partition_Limit")) return TimeLimit{};
  Clock c;
  if (!read_clock(text, c) || c.has_fraction)
    return refuse(text, "is not a time limit of Slurm's",
                  "write minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS or UNLIMITED");
  const auto [a, b, d] = c.field;
  std::int64_t total = 0;
  // What a field means hangs on how many there are, as in sbatch: "30" is minutes, "30:00" minutes and
  // seconds, "1-12" hours after days.
  if (c.has_days)
    total = c.days * 86400 + a * 3600 + b * 60 + d;
  else if (c.fields == 3)
    total = a * 3600 + b * 60 + d;
  else
    total = a * 60 + b;
  if (seconds(total) > kMaxTimeLimit)
    return refuse(text, "is longer than any limit Slurm can hold (2982616 days)", "write UNLIMITED");
  return TimeLimit::of(seconds(total));
}

std::string format_time_limit(const TimeLimit& limit) {
  switch (limit.kind) {
    case TimeLimit::Kind::limited:
      return write_clock(limit.length.count());
    case TimeLimit::Kind::unlimited:
      return "UNLIMITED";
    case TimeLimit::Kind::partition_limit:
      break;
  }
  return "Partition_Limit";
}

Result<microseconds> parse_elapsed(std::string_view text) {
  Clock c;
  if (!read_clock(text, c) || c.fields < 2 || (c.has_days && c.fields != 3))
    return refuse(text, "is not a duration of sacct's", "it prints MM:SS, HH:MM:SS or D-HH:MM:SS");
  for (std::size_t i = c.has_days ? 0 : 1; i < c.fields; ++i)
    if (c.field[i] > (c.has_days && i == 0 ? 23 : 59))
      return refuse(text, fmt::format("has the field {}", c.field[i]),
                    "minutes and seconds go to 59, hours after days to 23");
  const std::int64_t total = c.fields == 2
                                 ? c.field[0] * 60 + c.field[1]
                                 : c.days * 86400 + c.field[0] * 3600 + c.field[1] * 60 + c.field[2];
  if (total >= std::numeric_limits<std::int64_t>::max() / kMicro)
    return refuse(text, "is longer than 64 bits of microseconds hold", "look for a broken line in the log");
  return microseconds(total * kMicro + c.fraction);
}

std::string format_elapsed(microseconds elapsed) {
  const std::int64_t us = elapsed.count();
  if (us < 0) return "INVALID";  // Slurm's word for it
  std::string text = write_clock(us / kMicro);
  if (us % 1000 != 0) return text + fmt::format(".{:06}", us % kMicro);
  if (us % kMicro != 0) return text + fmt::format(".{:03}", us % kMicro / 1000);
  return text;
}

Result<microseconds> parse_duration(std::string_view text) {
  constexpr std::string_view kRemedy = "write a whole number and a unit: 250ms, 30s, 5m, 2h or 7d";
  std::string_view rest = text;
  std::uint64_t number = 0;
  std::size_t digits = 0;
  for (; !rest.empty() && is_digit(rest.front()); ++digits) {
    if (digits >= 18 && number > std::numeric_limits<std::int64_t>::max() / 10)
      return refuse(text, "is too long a duration", kRemedy);
    number = number * 10 + static_cast<std::uint64_t>(rest.front() - '0');
    rest.remove_prefix(1);
  }
  if (digits == 0) return refuse(text, "is not a duration", kRemedy);
  if (rest.empty()) return refuse(text, "has no unit", kRemedy);
  for (const UnitRow& unit : kUnits) {
    if (rest != unit.name) continue;
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() / unit.micros))
      return refuse(text, "is too long a duration", kRemedy);
    return microseconds(static_cast<std::int64_t>(number) * unit.micros);
  }
  return refuse(text, "is not a duration", kRemedy);
}

std::string format_duration(microseconds duration) {
  const std::int64_t us = duration.count();
  if (us == 0) return "0s";
  for (const UnitRow& unit : kUnits)
    if (us % unit.micros == 0) return fmt::format("{}{}", us / unit.micros, unit.name);
  return {};  // never: the last unit is 1
}

std::string describe_duration(microseconds duration) {
  std::int64_t us = duration.count();
  if (us == 0) return "0 s";
  if (us < 0) {
    if (us == std::numeric_limits<std::int64_t>::min()) ++us;  // has no positive twin
    return "-" + describe_duration(microseconds(-us));
  }
  // 1 s to 10 s: the tenths matter, 10 s and more: they do not.
  if (us >= kMicro && us < 10 * kMicro && us % kMicro >= 100'000)
    return fmt::format("{}.{} s", us / kMicro, us % kMicro / 100'000);
  std::size_t i = 0;
  while (us < kUnits[i].micros) ++i;
  std::string text = fmt::format("{} {}", us / kUnits[i].micros, kUnits[i].for_people);
  if (kUnits[i].micros > kMicro) {
    const std::int64_t next = us % kUnits[i].micros / kUnits[i + 1].micros;
    if (next > 0) text += fmt::format(" {} {}", next, kUnits[i + 1].for_people);
  }
  return text;
}

}  // namespace sickbay
