// SPDX-License-Identifier: Apache-2.0
// smd: what each option does, with the service by libsmd and the world by functions.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace sickbay::smd {

/// What a program has around it; tests have a clock that goes by itself.
struct World {
  std::function<std::string(const char*)> variable;  ///< of the environment; "": not set
  std::function<void(std::string_view)> out, err;    ///< whole lines, seen at once
  std::function<TimePoint()> now;                    ///< a clock that never goes back
  std::function<void(TimePoint)> wait_until;
  std::string version;
};

/// main's whole work: reads the words behind "smd", does what they say, gives the exit code.
int run_smd(const std::vector<std::string>& words, const World& world);

}  // namespace sickbay::smd
