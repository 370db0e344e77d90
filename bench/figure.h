// SPDX-License-Identifier: Apache-2.0
// How a benchmark measures and what it prints: one line per figure, `name value unit` (bench/README.md).
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

namespace sickbay::bench {

inline void figure(const char* name, double value, const char* unit) {
  std::printf("%s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

/// Processor time of this thread: for what only computes, on a machine that others use, too.
struct ThreadTime {
  static std::chrono::steady_clock::time_point now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::steady_clock::time_point(std::chrono::seconds(t.tv_sec) +
                                                 std::chrono::nanoseconds(t.tv_nsec));
  }
};

/// The median over `runs` calls of `work`, in milliseconds; `prepare` goes before each and is not counted.
template <class Clock = std::chrono::steady_clock, class Prepare, class Work>
double median_ms(int runs, Prepare prepare, Work work) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    prepare();
    const auto start = Clock::now();
    work();
    ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::nth_element(ms.begin(), ms.begin() + runs / 2, ms.end());
  return ms[static_cast<std::size_t>(runs / 2)];
}

/// A benchmark whose work did not do what it should has no figure: says so and ends.
inline void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "bench: %s\n", what);
  std::exit(1);
}

}  // namespace sickbay::bench
