// SPDX-License-Identifier: Apache-2.0
// Running a program of somebody else within bounds: of time, and of what it may print.
//
// The program leads a process group of its own, which is killed whole when a bound is passed, so that what it
// started goes with it.  (child.h is for programs that the caller talks with.)
#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay::cli {

struct BoundedChild {
  std::vector<std::string> argv;  ///< argv[0] is looked for in PATH, or from `folder` where it has a '/'
  std::string folder;             ///< it runs there; empty: here
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  std::chrono::milliseconds time_limit{0};
  std::size_t most_bytes = 0;  ///< of standard output
};

/// Its standard output, when it ends with exit code 0; its standard input is empty.
/// Errors: missing_program, denied, timed_out, bad_input (another exit code, with the last line of its
/// standard error; or it printed too much), os.
Result<std::string> run_bounded(const BoundedChild& child);

}  // namespace sickbay::cli
