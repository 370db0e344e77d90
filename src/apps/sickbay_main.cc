// SPDX-License-Identifier: Apache-2.0
// sickbay: the one command line; called as mybatch it is `sickbay submit`.
#include <cstdio>
#include <exception>

#include "apps/cli/command_line.h"
#include "base/result.h"

int main(int argc, char** argv) {
  try {
    return sickbay::cli::run_command_line(argc, argv);
  } catch (const std::exception& e) {  // a library's; ours are Results
    const sickbay::Error error(sickbay::ErrorCode::internal, e.what());
    std::fprintf(stderr, "%s\n", error.message("sickbay").c_str());
    return sickbay::error_row(error.code).exit_code;
  }
}
