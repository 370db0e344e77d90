// SPDX-License-Identifier: Apache-2.0
// ProcessRunner on fork and exec.
#pragma once
#include <memory>

#include "ports/process_runner.h"

namespace sickbay {

/// A runner on `loop`, which must outlive it.  On destruction every process that still runs is killed with
/// its group, and its `done` is never called.
std::unique_ptr<ProcessRunner> make_process_runner(Loop& loop);

}  // namespace sickbay
