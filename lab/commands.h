// SPDX-License-Identifier: Apache-2.0
// `sickbay lab ...` on the command line.
#pragma once

namespace CLI {
class App;
}

namespace sickbay::lab {

/// Adds the command `lab` and its subcommands to `app`.  A subcommand that ran puts its exit code into
/// `exit_code`, which must outlive the parse; messages go to stderr, answers to stdout.
void add_lab_commands(CLI::App& app, int& exit_code);

}  // namespace sickbay::lab
