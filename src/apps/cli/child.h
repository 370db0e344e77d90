// SPDX-License-Identifier: Apache-2.0
// Running another program from the command line, in the foreground, as the same user.
//
// The child shares the terminal and standard error with us; what it writes to standard output goes through
// our hands line by line, as it comes.  While it runs, an interrupt from the keyboard is the child's: we live
// on to tell the outcome.  (ports/process_runner.h is the daemon's: it needs a loop and bounds the time.)
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::cli {

struct ChildSpec {
  std::vector<std::string> argv;     ///< argv[0] is looked for in PATH
  std::optional<std::string> input;  ///< its standard input; nothing: ours
};

/// Runs it to its end and gives back its exit code, 128 + signal where it was killed.  `on_line` gets each
/// line of its standard output with the line end (the last may have none).
/// Errors: missing_program, denied, os.
Result<int> run_child(const ChildSpec& spec, const std::function<void(std::string_view line)>& on_line);

/// `text` as one word, in single quotes: for sh and bash, zsh and fish alike.
std::string shell_quoted(std::string_view text);

}  // namespace sickbay::cli
