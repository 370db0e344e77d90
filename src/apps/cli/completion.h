// SPDX-License-Identifier: Apache-2.0
// Shell completion, generated from the definition of the command line.
//
// The words of commands and options are in the script itself, so that completing them starts nothing; names
// of cases and nodes are asked of sickbayd through `sickbay complete-words`, which says nothing when it is
// away.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

/// The completion script for "bash", "zsh" or "fish".  Errors: not_found.
Result<std::string> completion_script(const CLI::App& app, std::string_view shell);

/// Names of "cases" (open ones, and their jobs) or "nodes", a line each; "" for other kinds and on any error.
std::string completion_words(std::string_view kind);

}  // namespace sickbay::cli
