// SPDX-License-Identifier: Apache-2.0
#include "workload/report/period.h"

#include <fmt/format.h>

#include "base/duration.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

constexpr const char* kForms =
    "write 2021-05-01, 2021-05, 2021, 2021-05-01T10:00:00, or a length before now: 30d";

}  // namespace

Result<TimePoint> parse_report_time(const std::string& text, const TimeZone& zone, TimePoint now) {
  std::string full = text;
  const bool digits_only = full.find_first_not_of("0123456789-T: ") == full.npos;
  if (full.size() == 4 && digits_only) full += "-01-01";
  if (full.size() == 7 && digits_only) full += "-01";
  if (full.size() == 10 && digits_only) full += "T00:00:00";
  if (full.size() == 16 && digits_only) full += ":00";
  std::int64_t seconds = 0;
  if (full.size() >= 19 && parse_timestamp(full, zone, seconds)) return from_unix_seconds(seconds);
  if (!text.empty() && is_digit(text[0]) && !digits_only)
    if (auto length = parse_duration(text); length) return now - *length;
  return fail(
      Error(ErrorCode::usage, fmt::format("{} is no time", quote_for_message(text))).remedied_by(kForms));
}

Result<Period> parse_comparison(const std::string& text, const Filter& filter, const TimeZone& zone,
                                TimePoint now) {
  if (text == "previous") {
    if (!filter.from || !filter.to)
      return fail(Error(ErrorCode::usage, "'--compare previous' needs --from and --to")
                      .remedied_by("give both, or name the second period: --compare FROM..TO"));
    return Period{*filter.from - (*filter.to - *filter.from), *filter.from};
  }
  const std::size_t dots = text.find("..");
  if (dots == text.npos)
    return fail(Error(ErrorCode::usage, fmt::format("{} is no period", quote_for_message(text)))
                    .remedied_by("write FROM..TO, as 2021-05-01..2021-06-01, or 'previous'"));
  auto from = parse_report_time(text.substr(0, dots), zone, now);
  if (!from) return fail(from.error());
  auto to = parse_report_time(text.substr(dots + 2), zone, now);
  if (!to) return fail(to.error());
  if (*to <= *from)
    return fail(ErrorCode::usage,
                fmt::format("the period {} ends before it begins", quote_for_message(text)));
  return Period{*from, *to};
}

Status set_period(const PeriodWords& words, const TimeZone& zone, TimePoint now, ViewOrder& views) {
  views.zone = zone.changes();
  Filter& f = views.filter;
  for (const auto& [text, time] : {std::pair{&words.from, &f.from}, {&words.to, &f.to}}) {
    if (text->empty()) continue;
    auto read = parse_report_time(*text, zone, now);
    if (!read) return fail(read.error());
    *time = *read;
  }
  if (f.from && f.to && *f.to <= *f.from)
    return fail(
        Error(ErrorCode::usage, "the period ends before it begins").remedied_by("exchange --from and --to"));
  if (words.compare.empty()) return {};
  auto second = parse_comparison(words.compare, f, zone, now);
  if (!second) return fail(second.error());
  views.compare = *second;
  return {};
}

}  // namespace sickbay::workload
