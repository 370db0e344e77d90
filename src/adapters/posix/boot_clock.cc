// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/boot_clock.h"

#include <ctime>

namespace sickbay {

Micros boot_clock() {
  timespec now{};
  SB_CHECK(::clock_gettime(CLOCK_BOOTTIME, &now) == 0, "Linux has this clock since 2.6.39");
  return std::chrono::duration_cast<Micros>(std::chrono::seconds(now.tv_sec) +
                                            std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace sickbay
