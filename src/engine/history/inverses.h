// SPDX-License-Identifier: Apache-2.0
// What Sickbay does to a cluster, and how each of it is undone: by an operator's word alone.
//
// One row for each verb (model/verbs.h) and each word of operators; a test sees to it that none is left out.
// Where an act has no inverse its row says why: what cannot be undone is said, and not tried.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/history/history.h"

namespace sickbay::history {

enum class Undo : std::uint8_t {
  here,       ///< `sickbay undo --act` does it
  elsewhere,  ///< another command does it, which `said` names: one way to do a thing
  none,       ///< it has no inverse; `said` is the reason
  look,       ///< nothing was changed
};
std::string_view to_string(Undo undo);

struct InverseRow {
  std::string_view act;  ///< a verb, or a kind of event that operators and owners cause
  Undo undo;
  std::string_view said;
};
/// All rows: verbs first.
std::span<const InverseRow> inverse_rows();
/// The row of a verb or kind, or null.
const InverseRow* inverse_row(std::string_view act);
/// It changes something that people may want undone, outside of any case: it is remembered.
bool is_act(std::string_view act);

/// The acts that are remembered, the last one first, with what undo says of each.
Json acts_view(const State& state);
/// The act of that name, or null.
const Act* act_named(const State& state, std::string_view name);

}  // namespace sickbay::history
