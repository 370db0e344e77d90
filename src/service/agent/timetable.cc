// SPDX-License-Identifier: Apache-2.0
#include "service/agent/timetable.h"

#include <ctime>

#include "base/fnv.h"

namespace sickbay::agent {

std::chrono::seconds pause_of(const diagnose::Specification& specification, const diagnose::Period& period,
                              const Overrides& overrides) {
  const auto it = overrides.find(specification.name + "/" + period.name);
  return it == overrides.end() ? period.every : it->second;
}

std::chrono::minutes time_of_day(TimePoint at) {
  const time_t seconds = to_unix_seconds(at);
  tm local{};
  ::localtime_r(&seconds, &local);
  return std::chrono::minutes(local.tm_hour * 60 + local.tm_min);
}

Micros share_of(std::string_view name, Micros range) {
  std::uint64_t hash = fnv64(name);  // then its bits are spread
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  hash ^= hash >> 33;
  return range.count() <= 0
             ? Micros(0)
             : Micros(static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(range.count())));
}

TimePoint next_tick(std::string_view name, std::chrono::seconds every, TimePoint now) {
  const Micros step = every.count() > 0 ? Micros(every) : Micros(std::chrono::seconds(60));
  const Micros shift = share_of(name, step);
  const Micros since = now.time_since_epoch() - shift;
  return TimePoint(shift + (since / step + 1) * step);
}

}  // namespace sickbay::agent
