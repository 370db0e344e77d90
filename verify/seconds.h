// SPDX-License-Identifier: Apache-2.0
// The clock of the phases of sickbay-verify.
#pragma once
#include <chrono>

namespace sickbay::verify {

/// Seconds since some moment, for differences only.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace sickbay::verify
