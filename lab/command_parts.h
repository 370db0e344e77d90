// SPDX-License-Identifier: Apache-2.0
// What the lab's commands share: naming a lab, and turning an Error into a message and an exit code.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "lab/layout.h"

namespace CLI {
class App;
}

namespace sickbay::lab {

/// Which lab a command means.
struct Which {
  std::string name = "lab", folder;
};
/// Adds -l/--lab and --dir, and NAME as the positional where that is free.
void add_which(CLI::App& command, const std::shared_ptr<Which>& which, bool positional);
/// Prints the message; the exit code of its row.
int complain(const Error& error);
/// Loads the lab and runs `work` on it.
int with_lab(const Which& which, const std::function<Status(const Layout&)>& work);

void add_fault_commands(CLI::App& lab, int& exit_code);

}  // namespace sickbay::lab
