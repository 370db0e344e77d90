// SPDX-License-Identifier: Apache-2.0
// sickbay rules import-nhc.
#pragma once

namespace CLI {
class App;
}

namespace sickbay::cli {

void add_rules_import(CLI::App& rules, int& exit_code);

}  // namespace sickbay::cli
