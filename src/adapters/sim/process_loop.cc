// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/process_loop.h"

namespace sickbay::sim {

void ProcessLoop::post(std::function<void()> task) {
  if (!timed_) return loop_.post(lifetime_.guard(std::move(task)));
  loop_.post(lifetime_.guard([this, task = std::move(task)] {
    const auto began = std::chrono::steady_clock::now();
    task();
    timed_("task", std::chrono::steady_clock::now() - began);
  }));
}

}  // namespace sickbay::sim
