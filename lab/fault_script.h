// SPDX-License-Identifier: Apache-2.0
// Timed faults from a file, for rehearsals and tests.
//
//   # a spare takes over, then the node comes back
//   at 40s n2 crash
//   at 45s n3 loss=5% direction=received for=20s
//   at 60s n2 heal
//   at 70s all heal
//
// One action a line: `at TIME NODE KIND[=VALUE] [OPTION=VALUE]...` or `at TIME NODE|all heal [KIND]`.
// Times count from the start of the run; lines run in order of time, equal times in order of the file.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/faults.h"

namespace sickbay::lab {

struct ScriptLine {
  int number = 0;
  std::chrono::milliseconds at{0};
  bool heal = false;
  FaultSpec fault;  ///< when !heal
  HealWish wish;    ///< when heal
};

/// Errors: bad_input, "FILE:LINE: ...", with cause and remedy.  Machines are not looked up.
Result<std::vector<ScriptLine>> parse_fault_script(std::string_view text, const std::string& file);

/// Runs a script against a lab to its end.  `tell` hears each action.  Machines are checked before the first
/// action.  Errors: those of the action that failed, with FILE:LINE; what ran before stays.
Status run_fault_script(const Layout& layout, const std::vector<ScriptLine>& script, const std::string& file,
                        const std::function<void(const std::string&)>& tell);

}  // namespace sickbay::lab
