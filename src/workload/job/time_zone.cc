// SPDX-License-Identifier: Apache-2.0
// Time zones, from the TZif files that the system keeps (RFC 8536) and the rule at their end.
//
// Not by the C library: its zone is one for the whole process, and an import reads on several threads.  The
// changes of a zone are read once, up to 2100, and a local time is looked up in them.
#include "workload/job/time_zone.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "workload/job/civil.h"

namespace sickbay::workload {
namespace {

using Change = TimeZone::Change;
constexpr std::int64_t kBefore = std::int64_t{-1} << 40;  // 32,000 years before 1970
constexpr std::int64_t kLastYear = 2100;

// ---- the rule at the end: "CET-1CEST,M3.5.0,M10.5.0/3" (POSIX, TZ)
// ---------------------------------------------

struct Rule {
  std::string_view rest;

  bool take(char c) {
    if (rest.empty() || rest.front() != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  std::optional<std::int64_t> number() {
    std::int64_t n = 0;
    std::size_t digits = 0;
    while (!rest.empty() && is_digit(rest.front()) && digits < 4) {
      n = n * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
      ++digits;
    }
    return digits > 0 ? std::optional(n) : std::nullopt;
  }
  bool name() {
    if (take('<')) {
      const std::size_t end = rest.find('>');
      if (end == std::string_view::npos) return false;
      rest.remove_prefix(end + 1);
      return true;
    }
    std::size_t n = 0;
    while (n < rest.size() && to_lower(rest[n]) >= 'a' && to_lower(rest[n]) <= 'z') ++n;
    rest.remove_prefix(n);
    return n >= 3;
  }
  // "[+-]hh[:mm[:ss]]" in seconds.
  std::optional<std::int64_t> clock() {
    const bool minus = take('-');
    if (!minus) take('+');
    const auto hours = number();
    if (!hours) return {};
    std::int64_t seconds = *hours * 3600;
    if (take(':')) seconds += number().value_or(0) * 60;
    if (take(':')) seconds += number().value_or(0);
    return minus ? -seconds : seconds;
  }
};

// The day of a change: "Mm.w.d", "Jn" or "n".
struct ChangeDay {
  char kind = 'M';
  std::int64_t month = 1, week = 1, day = 0, time = 7200;

  bool read(Rule& rule) {
    if (rule.take('M')) {
      const auto m = rule.number();
      const bool dot1 = rule.take('.');
      const auto w = rule.number();
      const bool dot2 = rule.take('.');
      const auto d = rule.number();
      if (!m || !w || !d || !dot1 || !dot2 || *m < 1 || *m > 12 || *w < 1 || *w > 5 || *d > 6) return false;
      month = *m, week = *w, day = *d;
    } else {
      kind = rule.take('J') ? 'J' : '0';
      const auto d = rule.number();
      if (!d || *d > 365) return false;
      day = *d;
    }
    if (rule.take('/')) {
      const auto t = rule.clock();
      if (!t) return false;
      time = *t;
    }
    return true;
  }
  // Local seconds of the change in `year`.
  std::int64_t in(std::int64_t year) const {
    std::int64_t days = days_of_year_start(year);
    if (kind == 'J') {
      days += day - 1 + (is_leap(year) && day > 59 ? 1 : 0);
    } else if (kind == '0') {
      days += day;
    } else {
      std::int64_t next = days_of_year_start(year + 1);
      const auto y = static_cast<unsigned>(year), m = static_cast<unsigned>(month);
      civil_days(y, m, 1, days);
      if (m < 12) civil_days(y, m + 1, 1, next);
      const std::int64_t weekday = (days + 4) % 7;  // 1970-01-01 was a Thursday; not before it here
      days += (day - weekday + 7) % 7 + (week - 1) * 7;
      if (days >= next) days -= 7;  // week 5: the last one
    }
    return days * 86400 + time;
  }
};

// Adds the changes that the rule makes after the last one of the table.
bool add_rule(std::string_view text, std::vector<Change>& changes) {
  Rule rule{text};
  if (!rule.name()) return false;
  const auto west = rule.clock();
  if (!west) return false;
  const std::int64_t standard = -*west;
  if (rule.rest.empty()) {
    if (changes.empty()) changes.push_back({kBefore, standard});
    return true;
  }
  if (!rule.name()) return false;
  std::int64_t summer = standard + 3600;
  if (!rule.rest.empty() && rule.rest.front() != ',') {
    const auto offset = rule.clock();
    if (!offset) return false;
    summer = -*offset;
  }
  ChangeDay begin, end;
  if (!rule.take(',') || !begin.read(rule) || !rule.take(',') || !end.read(rule) || !rule.rest.empty())
    return false;
  const std::int64_t last = changes.empty() ? 0 : changes.back().at;
  std::vector<Change> more;
  for (std::int64_t year = 1970; year <= kLastYear; ++year) {
    more.push_back({begin.in(year)-standard, summer});
    more.push_back({end.in(year)-summer, standard});
  }
  std::sort(more.begin(), more.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  if (changes.empty()) changes.push_back({kBefore, standard});
  for (const Change& change : more)
    if (change.at > last) changes.push_back(change);
  return true;
}

// ---- TZif -------------------------------------------------------------------------------------------------

std::int64_t read_big(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = (static_cast<unsigned char>(bytes[at]) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return static_cast<std::int64_t>(value);
}

struct Counts {
  std::size_t utc, standard, leaps, times, types, letters;
  std::size_t body(std::size_t time) const {
    return times * (time + 1) + types * 6 + letters + leaps * (time + 4) + standard + utc;
  }
};
constexpr std::size_t kHead = 44;

std::optional<Counts> read_head(std::string_view bytes) {
  if (bytes.size() < kHead || bytes.substr(0, 4) != "TZif") return {};
  const auto count = [&](std::size_t i) {
    return static_cast<std::size_t>(read_big(bytes, 20 + 4 * i, 4)) & 0xffffff;
  };
  return Counts{count(0), count(1), count(2), count(3), count(4), count(5)};
}

bool read_tzif(std::string_view bytes, std::vector<Change>& changes) {
  auto head = read_head(bytes);
  if (!head) return false;
  std::size_t time = 4;
  if (bytes[4] >= '2') {  // the same again with 64 bits, and the rule behind it
    const std::size_t skip = kHead + head->body(4);
    if (skip > bytes.size()) return false;
    bytes.remove_prefix(skip);
    head = read_head(bytes);
    time = 8;
  }
  if (!head || bytes.size() < kHead + head->body(time) || head->types == 0) return false;
  const std::size_t times = kHead, indexes = times + head->times * time, types = indexes + head->times;
  const auto offset_of = [&](std::size_t type) { return read_big(bytes, types + 6 * type, 4); };
  changes.push_back({kBefore, offset_of(0)});
  for (std::size_t i = 0; i < head->times; ++i) {
    const auto type = static_cast<std::size_t>(static_cast<unsigned char>(bytes[indexes + i]));
    const std::int64_t at = read_big(bytes, times + time * i, time);
    if (type >= head->types) return false;
    if (at <= changes.back().at) continue;
    if (offset_of(type) != changes.back().offset) changes.push_back({at, offset_of(type)});
  }
  if (time == 4) return true;
  std::string_view rule = bytes.substr(kHead + head->body(time));
  if (rule.size() < 2 || rule.front() != '\n') return true;
  rule.remove_prefix(1);
  rule = rule.substr(0, rule.find('\n'));
  return rule.empty() || add_rule(rule, changes);
}

std::optional<std::int64_t> fixed_offset(std::string_view name) {
  if (equal_ignoring_case(name, "UTC") || equal_ignoring_case(name, "Z") || equal_ignoring_case(name, "GMT"))
    return 0;
  if (name.size() < 3 || (name.front() != '+' && name.front() != '-')) return {};
  Rule rule{name};
  const auto offset = rule.clock();
  if (!offset || !rule.rest.empty() || *offset > 18 * 3600 || *offset < -18 * 3600) return {};
  return offset;
}

}  // namespace

Result<TimeZone> TimeZone::make(std::string_view name) {
  std::vector<Change> changes;
  if (const auto offset = fixed_offset(name)) {
    changes.push_back({kBefore, *offset});
  } else {
    const auto unknown = [&] {
      return fail(Error(ErrorCode::not_found, fmt::format("no time zone {}", quote_for_message(name)))
                      .remedied_by("write a name of /usr/share/zoneinfo (Europe/Berlin), UTC or +02:00"));
    };
    const bool plain_name = std::all_of(name.begin(), name.end(), [](char c) {
      return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '/' || c == '_' || c == '-' ||
             c == '+';
    });
    if (name.empty() || name.front() == '/' || !plain_name) return unknown();
    const std::filesystem::path path = std::filesystem::path("/usr/share/zoneinfo") / name;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return unknown();
    std::ifstream in(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!read_tzif(bytes, changes)) return unknown();
  }
  TimeZone zone;
  zone.changes_ = std::make_shared<const std::vector<Change>>(std::move(changes));
  return zone;
}

std::int64_t TimeZone::to_utc(std::int64_t local) const {
  const std::vector<Change>& all = *changes_;
  // The first stretch of time whose local end is after `local`.  Of an hour that comes twice this is the
  // first; an hour that is left out is counted on with the offset before it, but from the new stretch.
  std::size_t low = 0, high = all.size() - 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (local < all[middle + 1].at + all[middle].offset)
      high = middle;
    else
      low = middle + 1;
  }
  if (low > 0 && local < all[low].at + all[low].offset) return local - all[low - 1].offset;
  return local - all[low].offset;
}

}  // namespace sickbay::workload
