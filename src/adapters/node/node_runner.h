// SPDX-License-Identifier: Apache-2.0
// OperationRunner of the built-in operations (src/model/builtin_operations.h).
#pragma once
#include <memory>
#include <string>

#include "ports/operation_runner.h"
#include "ports/process_runner.h"

namespace sickbay {

/// A runner of `builtin:NAME` on `loop`; `programs` runs what other programs must be asked.  Both must
/// outlive it.  `root`: "/" or the folder of a recorded machine, below which all files are read and all
/// programs found.
///
/// What reads files of the kernel runs on the loop, in microseconds; what may wait runs on threads; what
/// other programs know is asked of children.  Counts "since the last call" are kept here, by the operation's
/// name, and begin anew with each runner.
std::unique_ptr<OperationRunner> make_node_runner(Loop& loop, ProcessRunner& programs,
                                                  std::string root = "/");

}  // namespace sickbay
