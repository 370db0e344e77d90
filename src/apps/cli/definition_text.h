// SPDX-License-Identifier: Apache-2.0
// What is generated from the definition of the command line: man pages and shell completion.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
}

namespace sickbay::cli {

struct Ending;

/// The man page (roff, man(7)) of a command of `app`, or of `app` itself for "".  Errors: not_found.
Result<std::string> man_page(const CLI::App& app, std::string_view command);

/// The commands `completion SHELL`, and, hidden, `man COMMAND` and `complete-words KIND`.
void add_definition_commands(CLI::App& app, Ending& ending);

}  // namespace sickbay::cli
