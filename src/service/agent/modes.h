// SPDX-License-Identifier: Apache-2.0
// Modes: what the initial values of a period say of how deep a run goes and whether it may repair.  Pure.
//
// A mode is a text value ("mode": "deep"), or bools of the modes' names ("quick": true, "deep": false).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/diagnose/run.h"

namespace sickbay::agent {

using Initial = std::vector<std::pair<std::string, Value>>;

using diagnose::mode_of;
/// The initial values of a run that no period asked for: those of a period that has `mode` (`now`, the one
/// that holds, before others), else those of `now` or the first one, with the mode replaced: of bools, those
/// up to it are true and deeper ones false.
Initial initial_for(const diagnose::Specification& specification, const diagnose::Period* now,
                    std::string_view mode);

/// The word of initial values on repairs; nothing where they do not speak of it.
std::optional<bool> repair_word(const Initial& initial);
/// All who have a word in whether a run may repair.
struct RepairWords {
  bool site = false;            ///< repair.allowed
  const diagnose::Period* now;  ///< the period that holds; may be null
  const Initial* initial;       ///< the values that the run begins with, of the period of its mode
  std::string_view period;      ///< their name, for people
  std::optional<bool> request;  ///< of `sickbay diagnose`; nothing: nobody was asked
};
/// Given where none of them forbids it: the strictest wins.
diagnose::Permit permit_repair(const RepairWords& words);

}  // namespace sickbay::agent
