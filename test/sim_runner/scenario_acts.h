// SPDX-License-Identifier: Apache-2.0
// What can happen in a scenario: the words after "at TIME".
#pragma once
#include <functional>
#include <map>
#include <string>

#include "test/sim_runner/scenario.h"
#include "test/sim_runner/scenario_words.h"

namespace sickbay::sim {

using Act = std::function<Status(ScenarioRun&)>;

/// "NODES WORD[=VALUE] ...": something happens to nodes (node_acts.cc).
Result<Act> node_act(const Words& words);

/// Everything else, by its first word, which is no node.
const std::map<std::string, Result<Act> (*)(const Words&)>& act_words();

}  // namespace sickbay::sim
