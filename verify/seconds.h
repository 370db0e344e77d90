// SPDX-License-Identifier: Apache-2.0
// The clocks of the phases of sickbay-verify.
#pragma once
#include <chrono>
#include <ctime>

namespace sickbay::verify {

/// Seconds since some moment, for differences only.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that this thread has run.
inline double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Seconds since 1970 by this node's clock: for telling which measurements fell into the same time.
inline double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace sickbay::verify
