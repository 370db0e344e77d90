// SPDX-License-Identifier: Apache-2.0
// sickbay rules import-nhc.
#pragma once

namespace CLI {
class App;
}

namespace sickbay::cli {

struct Ending;

void add_rules_import(CLI::App& rules, Ending& ending);

}  // namespace sickbay::cli
