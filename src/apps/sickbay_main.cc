// SPDX-License-Identifier: Apache-2.0
// sickbay: the one command line.  This file only joins the commands, each of which stands in its own library,
// and turns what the parser says into the exit codes of the error table.
#include <CLI/CLI.hpp>

#include "base/result.h"
#include "lab/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Fault management for Slurm clusters", "sickbay");
  app.require_subcommand(1);
  int exit_code = 0;
  sickbay::lab::add_lab_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // 0 is --help; everything else is a wrong command line.
    return app.exit(e) == 0 ? 0 : sickbay::error_row(sickbay::ErrorCode::usage).exit_code;
  }
  return exit_code;
}
