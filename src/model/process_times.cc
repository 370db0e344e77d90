// SPDX-License-Identifier: Apache-2.0
#include "model/process_times.h"

#include <algorithm>
#include <bit>

#include "base/words.h"
#include "model/rank_look.h"

namespace sickbay {
namespace {

constexpr std::size_t kMostProcessName = 64;
constexpr std::int64_t kLongest = std::int64_t{400} * 24 * 3600 * 1'000'000;  // a job runs a year at most

constexpr std::int64_t kMostCpu = 8191;  // Linux is built for that many at most
constexpr std::int64_t kWord = 64;

Micros bounded(const Json& json, std::int64_t most) {
  return Micros(std::clamp<std::int64_t>(json.as_int(), 0, most));
}

}  // namespace

CpuSet parse_cpu_list(std::string_view list) {
  CpuSet set;
  while (!list.empty()) {
    std::string_view last = next_part(list, ',');
    std::string_view first = last;
    if (last.find('-') != std::string_view::npos) first = next_part(last, '-');
    const auto from = to_integer(first), to = to_integer(last);
    if (!from || !to || *from < 0 || *from > *to || *to > kMostCpu) continue;
    if (const auto words = static_cast<std::size_t>(*to / kWord + 1); set.size() < words) set.resize(words);
    for (std::int64_t cpu = *from; cpu <= *to; ++cpu)
      set[static_cast<std::size_t>(cpu / kWord)] |= std::uint64_t{1} << (cpu % kWord);
  }
  return set;
}

std::size_t count_cpus(const CpuSet& set) {
  std::size_t sum = 0;
  for (const std::uint64_t word : set) sum += static_cast<std::size_t>(std::popcount(word));
  return sum;
}

bool share_cpus(const CpuSet& a, const CpuSet& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if ((a[i] & b[i]) != 0) return true;
  return false;
}

std::int64_t permille(Micros part, Micros whole) {
  if (whole.count() <= 0) return 0;
  return std::clamp<std::int64_t>(std::min(part, whole).count() * 1000 / whole.count(), 0, 1000);
}

std::int64_t ProcessTimes::lost_permille() const { return permille(lost(), seen); }

Json to_json(const ProcessTimes& times) {
  return Json::object({{"pid", times.pid},
                       {"name", times.name},
                       {"seen_us", times.seen.count()},
                       {"ran_us", times.ran.count()},
                       {"waited_us", times.waited.count()},
                       {"stopped_us", times.stopped.count()},
                       {"throttled_us", times.throttled.count()}});
}

Result<ProcessTimes> read_process_times(const Json& json) {
  for (const char* name : {"seen_us", "waited_us", "stopped_us"})
    if (!json.has(name)) return fail(ErrorCode::bad_input, std::string("times of processes need ") + name);
  ProcessTimes times;
  times.pid = json["pid"].as_int();
  times.name = plain_name(json["name"].as_string(), kMostProcessName);
  times.seen = bounded(json["seen_us"], kLongest);
  times.ran = bounded(json["ran_us"], times.seen.count());
  // Nobody loses more time than there was.
  times.waited = bounded(json["waited_us"], times.seen.count());
  times.stopped = bounded(json["stopped_us"], (times.seen - times.waited).count());
  times.throttled = bounded(json["throttled_us"], kLongest);
  return times;
}

}  // namespace sickbay
