// SPDX-License-Identifier: Apache-2.0
// What `sickbay trigger` waits for, as a question about the view of a case
// (doc/formats/api.md).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace sickbay::cli {

enum class TriggerEvent : std::uint8_t {
  finish,     ///< the run is over, however
  fail,       ///< and it was no success, nor was it cancelled
  timeout,    ///< it ran into its time limit
  node_fail,  ///< it lost a node; told at once, also while it runs on
};
/// By the words of --on; the help has them in this order.
const std::vector<std::pair<std::string, TriggerEvent>>& trigger_events();

enum class Triggered : std::uint8_t {
  waits,
  came,
  missed,  ///< the run is over, or never will be, and it was something else
};
/// How it stands with run `run` ("c17.r1") in the view of its case.
Triggered triggered(const Json& view, std::string_view run, TriggerEvent event);

/// What a command that was waited for is told, as NAME=VALUE: SICKBAY_CASE,
/// _JOB, _RUN, _EVENT, _OUTCOME, _SYMPTOM, _STATE, _EXIT_CODE, _NODES,
/// _DOWN_NODES.
std::vector<std::string> trigger_environment(const Json& view, std::string_view run, std::string_view event);

}  // namespace sickbay::cli
