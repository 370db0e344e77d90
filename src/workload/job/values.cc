// SPDX-License-Identifier: Apache-2.0
// Each value has its usual form first, read by the word or in one loop; what is not of that form goes on to a
// slower reader of all forms.  Nothing here allocates, but valid_utf8 in its arena.
#include "workload/job/values.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/size.h"
#include "base/text.h"
#include "workload/job/civil.h"
#include "workload/job/swar.h"

namespace sickbay::workload {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Takes a number of at most `most` digits off the front.
bool take_number(std::string_view& text, std::size_t most, std::int64_t& value) {
  std::size_t n = 0;
  std::int64_t number = 0;
  while (n < text.size() && n < most && is_digit(text[n])) number = number * 10 + (text[n++] - '0');
  if (n == 0 || (n < text.size() && is_digit(text[n]))) return false;
  text.remove_prefix(n);
  value = number;
  return true;
}
bool take_char(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}
bool all_digits(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }

// The zone at the end of a time: "Z", "+02:00", "+0200", "+02"; the rest of `text`.
bool read_offset(std::string_view text, std::int64_t& east) {
  if (text == "Z" || text == "z") {
    east = 0;
    return true;
  }
  const bool minus = !text.empty() && text.front() == '-';
  if (!minus && !take_char(text, '+')) return false;
  if (minus) text.remove_prefix(1);
  if (text.size() < 2 || !all_digits(text.substr(0, 2))) return false;
  const std::int64_t hours = (text[0] - '0') * 10 + (text[1] - '0');
  text.remove_prefix(2);
  take_char(text, ':');
  std::int64_t minutes = 0;
  if (!text.empty() && (text.size() != 2 || !take_number(text, 2, minutes) || !text.empty())) return false;
  if (hours > 18 || minutes > 59) return false;
  east = (hours * 60 + minutes) * 60 * (minus ? -1 : 1);
  return true;
}

constexpr swar::Form kDate = swar::form("dddd-dd-"), kClock = swar::form("dd:dd:dd");

// The first 19 bytes of `p`: "2021-05-01T02:26:23" to local seconds.
bool read_date_time(const char* p, std::int64_t& local) {
  std::uint64_t date, clock;
  if (!swar::fits(swar::load8(p), kDate, date) || !swar::fits(swar::load8(p + 11), kClock, clock))
    return false;
  const unsigned d1 = static_cast<unsigned char>(p[8]) - '0', d2 = static_cast<unsigned char>(p[9]) - '0';
  if (d1 > 9 || d2 > 9 || (p[10] != 'T' && p[10] != ' ')) return false;
  date = swar::pairs(date);
  clock = swar::pairs(clock);
  const unsigned hours = swar::byte(clock, 0), minutes = swar::byte(clock, 3), seconds = swar::byte(clock, 6);
  if (hours > 23 || minutes > 59 || seconds > 59) return false;
  std::int64_t days = 0;
  if (!civil_days(swar::byte(date, 0) * 100 + swar::byte(date, 2), swar::byte(date, 5), d1 * 10 + d2, days))
    return false;
  local = days * 86400 + hours * 3600 + minutes * 60 + seconds;
  return true;
}

// The fields of "D-HH:MM:SS" and what is short of it.
struct Fields {
  std::int64_t days = 0, field[3] = {};
  int count = 0;
  bool has_days = false;
};

// Takes them off the front of `text`.
bool take_fields(std::string_view& text, Fields& f) {
  constexpr std::size_t kMaxDigits = 12;
  if (!take_number(text, kMaxDigits, f.field[0])) return false;
  f.has_days = take_char(text, '-');
  if (f.has_days) {
    f.days = f.field[0];
    if (!take_number(text, kMaxDigits, f.field[0])) return false;
  }
  f.count = 1;
  while (f.count < 3 && take_char(text, ':'))
    if (!take_number(text, kMaxDigits, f.field[f.count++])) return false;
  return true;
}

// Every form of a run time but those that parse_elapsed_ms reads itself; the same rules as parse_elapsed.
bool read_elapsed(std::string_view text, std::int64_t& milliseconds) {
  Fields f;
  std::int64_t micros = 0;
  if (!take_fields(text, f)) return false;
  const auto& [days, field, fields, has_days] = f;
  if (take_char(text, '.')) {
    if (text.empty() || text.size() > 6 || !all_digits(text)) return false;
    for (int i = 0; i < 6; ++i)
      micros = micros * 10 +
               (static_cast<std::size_t>(i) < text.size() ? text[static_cast<std::size_t>(i)] - '0' : 0);
    text = {};
  }
  if (!text.empty() || fields < 2 || (has_days && fields != 3)) return false;
  if (has_days && field[0] > 23) return false;
  if (field[1] > 59 || field[2] > 59) return false;
  const std::int64_t seconds =
      fields == 2 ? field[0] * 60 + field[1] : days * 86400 + field[0] * 3600 + field[1] * 60 + field[2];
  if (seconds >= kMost / 1'000'000) return false;
  milliseconds = seconds * 1000 + micros / 1000;
  return true;
}

struct Size {
  std::uint64_t whole = 0;                       // before the '.'
  std::uint64_t numerator = 0, denominator = 1;  // after it
  unsigned shift = 0;                            // the unit is 2^shift

  bool bytes(std::int64_t& value) const {
    if (whole > static_cast<std::uint64_t>(kMost) >> shift) return false;
    const std::uint64_t sum =
        (whole << shift) + (denominator == 1 ? 0 : binary_fraction(numerator, denominator, shift));
    if (sum > static_cast<std::uint64_t>(kMost)) return false;
    value = static_cast<std::int64_t>(sum);
    return true;
  }
};

// The size at the front of `text`, taken off.  `bare` is the shift where no unit stands.
bool take_size(std::string_view& text, unsigned bare, Size& size) {
  std::size_t n = 0;
  for (; n < text.size() && is_digit(text[n]); ++n) {
    const auto digit = static_cast<std::uint64_t>(text[n] - '0');
    if (size.whole > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
    size.whole = size.whole * 10 + digit;
  }
  if (n == 0) return false;
  text.remove_prefix(n);
  if (take_char(text, '.')) {
    for (n = 0; n < text.size() && is_digit(text[n]); ++n) {
      if (n == 9) return false;
      size.numerator = size.numerator * 10 + static_cast<std::uint64_t>(text[n] - '0');
      size.denominator *= 10;
    }
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  constexpr std::string_view kUnits = "BKMGTPE";
  const std::size_t unit = text.empty() ? std::string_view::npos : kUnits.find(to_upper(text.front()));
  if (unit == std::string_view::npos) {
    size.shift = bare;
    return true;
  }
  text.remove_prefix(1);
  size.shift = 10 * static_cast<unsigned>(unit);
  if (unit == 0) return true;  // "100B", and no "100Bi"
  if (text.size() >= 2 && to_lower(text[0]) == 'i' && to_lower(text[1]) == 'b')
    text.remove_prefix(2);
  else if (!text.empty() && to_lower(text[0]) == 'b')
    text.remove_prefix(1);
  return true;
}

unsigned shift_of(std::int64_t bare) { return bare == 1 ? 0 : bare == 1024 ? 10 : 20; }

}  // namespace

bool is_absent(std::string_view text) {
  if (text.empty()) return true;
  switch (text.front()) {
    case 'U':
      return text == "Unknown";
    case 'N':
      return text == "None" || text == "N/A" || text == "None assigned";
    case '(':
      return text == "(null)";
    case 'I':
      return text == "INVALID";
    default:
      return false;
  }
}

bool parse_integer(std::string_view text, std::int64_t& value, bool fraction) {
  const bool minus = !text.empty() && text.front() == '-';
  if (minus) text.remove_prefix(1);
  if (fraction) {
    const std::size_t dot = text.find('.');
    if (dot != std::string_view::npos) {
      if (dot + 1 == text.size() || !all_digits(text.substr(dot + 1))) return false;
      text = text.substr(0, dot);
    }
  }
  if (text.empty()) return false;
  std::uint64_t number = 0;
  if (text.size() <= 18) {
    for (const char c : text) {
      const unsigned digit = static_cast<unsigned char>(c) - '0';
      if (digit > 9) return false;
      number = number * 10 + digit;
    }
  } else {
    for (const char c : text) {
      const unsigned digit = static_cast<unsigned char>(c) - '0';
      if (digit > 9 || number > (static_cast<std::uint64_t>(kMost) - digit) / 10) return false;
      number = number * 10 + digit;
    }
  }
  value = minus ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
  return true;
}

bool parse_timestamp(std::string_view text, const TimeZone& zone, std::int64_t& utc_seconds) {
  std::int64_t local = 0;
  if (text.size() >= 19 && read_date_time(text.data(), local)) {
    if (text.size() == 19) {
      utc_seconds = zone.to_utc(local);
      return true;
    }
    text.remove_prefix(19);
    if (take_char(text, '.')) {
      std::size_t n = 0;
      while (n < text.size() && is_digit(text[n])) ++n;
      if (n == 0) return false;
      text.remove_prefix(n);
    }
    std::int64_t east = 0;
    if (text.empty()) {
      utc_seconds = zone.to_utc(local);
    } else {
      if (!read_offset(text, east)) return false;
      utc_seconds = local - east;
    }
    return true;
  }
  // Seconds since 1970, up to the year 5138: more is no time.
  std::int64_t count = 0;
  if (text.empty() || !is_digit(text.front()) || !parse_integer(text, count, true)) return false;
  if (count > 99'999'999'999) return false;
  utc_seconds = count;
  return true;
}

bool parse_elapsed_ms(std::string_view text, std::int64_t& milliseconds) {
  // "HH:MM:SS", also behind days ("1-02:03:04", "12-02:03:04"): most of what sacct prints.
  if (text.size() >= 8 && text.size() <= 11 && text.size() != 9) {
    std::uint64_t clock;
    const char* last8 = text.data() + text.size() - 8;
    if (swar::fits(swar::load8(last8), kClock, clock)) {
      clock = swar::pairs(clock);
      const unsigned hours = swar::byte(clock, 0), minutes = swar::byte(clock, 3);
      const unsigned seconds = swar::byte(clock, 6);
      std::int64_t days = 0;
      std::string_view front = text.substr(0, text.size() - 8);
      if (!front.empty()) {
        if (front.back() != '-') return read_elapsed(text, milliseconds);
        front.remove_suffix(1);
        if (!take_number(front, 2, days) || !front.empty() || hours > 23) return false;
      }
      if (minutes > 59 || seconds > 59) return false;
      milliseconds = (days * 86400 + hours * 3600 + minutes * 60 + seconds) * 1000;
      return true;
    }
  }
  std::int64_t seconds = 0;
  if (text.size() <= 15 && parse_integer(text, seconds) && seconds >= 0 && text.front() != '-') {
    milliseconds = seconds * 1000;
    return true;
  }
  return read_elapsed(text, milliseconds);
}

bool parse_limit(std::string_view text, std::int64_t& seconds) {
  // "12:00:00" and "1-00:00:00"; what is short, a word, or out of the ordinary goes on.
  if (text.size() >= 8 && is_digit(text.front())) {
    std::int64_t ms = 0;
    if (parse_elapsed_ms(text, ms) && text.find('.') == std::string_view::npos &&
        text.find(':') != std::string_view::npos && ms < 86400'000'000) {
      seconds = ms / 1000;
      // MM:SS with many minutes and HH:MM:SS are the same in both; so is D-HH:MM:SS.
      return true;
    }
  }
  if (trimmed(text).empty() || equal_ignoring_case(text, "UNLIMITED") ||
      equal_ignoring_case(text, "INFINITE") || equal_ignoring_case(text, "Partition_Limit") || text == "-1") {
    seconds = -1;
    return true;
  }
  Fields f;
  if (!take_fields(text, f) || !text.empty()) return false;
  const auto& [days, field, fields, has_days] = f;
  const std::int64_t total = has_days      ? days * 86400 + field[0] * 3600 + field[1] * 60 + field[2]
                             : fields == 3 ? field[0] * 3600 + field[1] * 60 + field[2]
                                           : field[0] * 60 + field[1];
  if (total > std::int64_t{0xfffffffd} * 60) return false;  // slurm.h's NO_VAL and INFINITE are above it
  seconds = total;
  return true;
}

bool parse_bytes(std::string_view text, std::int64_t bare, std::int64_t& bytes) {
  Size size;
  std::int64_t value = 0;
  if (!take_size(text, shift_of(bare), size) || !text.empty() || !size.bytes(value)) return false;
  bytes = value;
  return true;
}

bool parse_req_mem(std::string_view text, Row& row) {
  Size size;
  if (!take_size(text, 20, size)) return false;
  char per = 0;
  if (!text.empty()) {
    per = text.front();
    text.remove_prefix(1);
    if (!text.empty() || (per != 'n' && per != 'c')) return false;
  }
  // Slurm marks memory per CPU by the topmost bit of a count of MiB (of 32 bits, later 64); an sacct that
  // does not know the bit prints it as a part of the number, "per node".
  constexpr std::uint64_t kFlag32 = std::uint64_t{1} << 31, kFlag64 = std::uint64_t{1} << 63;
  if (per != 'c' && size.shift >= 20) {
    const unsigned up = size.shift - 20;
    const std::uint64_t mib = size.whole << up;
    const bool flag64 = up == 0 && (size.whole & kFlag64) != 0;
    if (flag64 || (mib >> up == size.whole && mib >= kFlag32 && mib < 2 * kFlag32)) {
      // "2.00Pn" has lost the bits that mattered: then nothing is known but that it was per CPU.
      const std::uint64_t rest = flag64 ? mib & ~kFlag64 : mib - kFlag32;
      if (rest > static_cast<std::uint64_t>(kMost) >> 20) return false;
      if (size.denominator == 1) row.set(Num::req_mem_per_cpu, static_cast<std::int64_t>(rest << 20));
      row.add_bits(Num::repairs, bit(Repair::req_mem_flag));
      return true;
    }
  }
  std::int64_t bytes = 0;
  if (!size.bytes(bytes)) return false;
  row.set(per == 'n' ? Num::req_mem_per_node : per == 'c' ? Num::req_mem_per_cpu : Num::req_mem, bytes);
  return true;
}

GresGpus gpus_of_gres(std::string_view text) {
  GresGpus gpus;
  std::size_t begin = 0;
  int depth = 0;  // a comma within brackets ("(S:0,2)") parts nothing
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (at < text.size() && (c != ',' || depth > 0)) {
      depth += (c == '(') - (c == ')' && depth > 0);
      continue;
    }
    std::string_view item = text.substr(begin, at - begin);
    begin = at + 1;
    item = item.substr(0, item.find('('));
    if (item != "gpu" && !item.starts_with("gpu:")) continue;
    const auto colon = item.rfind(':');
    std::int64_t n = 0;
    const bool counted = colon != std::string_view::npos && parse_integer(item.substr(colon + 1), n) &&
                         n >= 0 && n < 1'000'000;
    gpus.count += counted ? n : 1;
    const std::string_view named = item.substr(0, counted ? colon : item.size());
    if (gpus.kind.empty() && named.size() > 4) gpus.kind = named.substr(4);
  }
  return gpus;
}

bool parse_exit(std::string_view text, Row& row) {
  if (text.size() == 3 && text[1] == ':' && is_digit(text[0]) && is_digit(text[2])) {
    row.set(Num::exit_code, text[0] - '0');
    row.set(Num::exit_signal, text[2] - '0');
    return true;
  }
  const std::size_t colon = text.find(':');
  std::int64_t code = 0, signal = 0;
  if (!parse_integer(text.substr(0, colon), code)) return false;
  if (colon != std::string_view::npos && !parse_integer(text.substr(colon + 1), signal)) return false;
  row.set(Num::exit_code, code);
  if (colon != std::string_view::npos) row.set(Num::exit_signal, signal);
  return true;
}

}  // namespace sickbay::workload
