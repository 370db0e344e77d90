// SPDX-License-Identifier: Apache-2.0
// OperationRunner of operations that are executables of the operations folders (doc/formats/operation.md).
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ports/operation_runner.h"
#include "ports/process_runner.h"

namespace sickbay {

struct OperationFolders {
  /// In order: the first that has a file of the name wins, so that a site's covers a shipped one.
  std::vector<std::string> folders;
  std::string root = "/";  ///< told to the operation: where its /proc and /sys are
};
/// $SICKBAY_ROOT/etc/sickbay/operations.d, then /usr/share/sickbay/operations or what lies beside this
/// program.
OperationFolders standard_operation_folders();

/// A runner on `loop`, which must outlive it.  Each operation runs in a process group of its own with limits
/// on time (the group is killed), memory (RLIMIT_DATA, and RLIMIT_AS 256 MiB above it), output (more than
/// that on stdout kills it) and core files (none).  What it leaves running when it ends is killed, also what
/// forked twice and made a session of its own; for that, this process adopts orphans (make_process_runner
/// says what that means).  An executable that others than root and us may write is not run.
std::unique_ptr<OperationRunner> make_operation_process_runner(Loop& loop, OperationFolders folders);

}  // namespace sickbay
