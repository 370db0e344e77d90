// SPDX-License-Identifier: Apache-2.0
// The whole command line as one definition, and what happens when it is wrong.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sickbay::cli {

struct Ending;

/// All commands.  How the one that runs ended goes into `ending`, which must outlive the parse.
std::unique_ptr<CLI::App> make_command_line(Ending& ending);

/// Reads the words after "sickbay", runs the command they name, and gives its exit code.
int parse_command_line(const std::vector<std::string>& words);

/// main's whole work.  Called as mybatch, myrequeue or mytrigger, all words are those of `sickbay submit`,
/// `sickbay requeue` or `sickbay trigger`.
int run_command_line(int argc, const char* const* argv);

}  // namespace sickbay::cli
