// SPDX-License-Identifier: Apache-2.0
// What a clock of the kernel shows: when something was counted, and what the counting cost.
#pragma once
#include <time.h>

#include <chrono>

#include "base/time.h"

namespace sickbay::node {

/// Since the clock's beginning: the boot (CLOCK_BOOTTIME), or the thread's (CLOCK_THREAD_CPUTIME_ID).
inline Micros clock_time(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return std::chrono::duration_cast<Micros>(std::chrono::seconds(now.tv_sec) +
                                            std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace sickbay::node
