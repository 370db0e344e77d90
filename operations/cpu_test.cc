// SPDX-License-Identifier: Apache-2.0
// cpu_test: computes for a while on one processor after another and compares (src/model/builtin_acts.cc).
//
// Integer and floating-point work whose result is known by having been computed on the first processor: one
// that differs is broken.  A processor that got less time than passed was taken by others, or by a quota.
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "operation.h"

namespace {

double clock_seconds(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// One piece of work, some 50 us; always the same result.
std::uint64_t work() {
  std::uint64_t x = 0x9e3779b97f4a7c15U;
  double y = 1.0;
  for (int i = 0; i < 20'000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    y = y * 1.0000001 + static_cast<double>(x & 0xffU) * 1e-9;
  }
  return x ^ static_cast<std::uint64_t>(y * 1e12);
}

}  // namespace

int main() {
  const auto asked = operation::request();
  const std::int64_t milliseconds = asked["arguments"]["milliseconds"].as_int(100);
  if (milliseconds < 10 || milliseconds > 600'000)
    operation::unknown("`milliseconds` must be from 10 to 600000");
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    operation::unknown("cannot ask for the processors");
  std::vector<double> speeds;
  double least_share = 100;
  std::int64_t wrong = 0;
  std::uint64_t right = 0;
  bool first = true;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (::sched_setaffinity(0, sizeof one, &one) != 0) continue;  // taken offline meanwhile
    if (first) right = work();
    first = false;
    std::int64_t pieces = 0, bad = 0;
    const double wall = clock_seconds(CLOCK_MONOTONIC), used = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    double passed = 0;
    do {
      bad += work() != right;
      ++pieces;
      passed = clock_seconds(CLOCK_MONOTONIC) - wall;
    } while (passed * 1000 < static_cast<double>(milliseconds));
    const double got = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - used;
    least_share = std::min(least_share, 100 * got / passed);
    // By the time it got: others on this processor make it no slower.
    speeds.push_back(static_cast<double>(pieces) / got);
    wrong += bad > 0;
  }
  if (speeds.empty()) operation::unknown("no processor could be tested");
  const double slowest = *std::min_element(speeds.begin(), speeds.end());
  std::nth_element(speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(speeds.size() / 2),
                   speeds.end());
  const double median = speeds[speeds.size() / 2];
  auto found = sickbay::Json::object(
      {{"cpu_share_percent", static_cast<std::int64_t>(std::clamp(least_share, 0.0, 100.0))},
       {"cpu_slowest_percent", static_cast<std::int64_t>(std::min(100 * slowest / median, 100.0))},
       {"cpu_wrong", wrong}});
  if (wrong > 0) operation::fault(found, fmt::format("{} processors computed wrong", wrong));
  operation::ok(found, fmt::format("{} processors", speeds.size()));
}
