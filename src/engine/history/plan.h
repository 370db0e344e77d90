// SPDX-License-Identifier: Apache-2.0
// What going back would give: where the history goes on from, what the replay is made of, what it does again.
//
// The paper knows two ways to keep a history (3.1): by operations, which can be changed before they are
// done again, and by images, which bring back exactly what was.  Ours are joined: files, environment,
// arguments are known at every operation by the changes on the way there (operations); what the job had
// computed comes from the last checkpoint that no changed operation has spoilt (images).
//
// Pure, and asked before anything is done.  Source: doc/design/undo.md.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/history/history.h"

namespace sickbay::history {

enum class Ask : std::uint8_t {
  rewind,  ///< go back to an operation
  drop,    ///< as if this operation had not been
  edit,    ///< ...had been another
  insert,  ///< ...had had one before it
};
std::string_view to_string(Ask ask);
std::optional<Ask> ask_from(std::string_view word);

/// What a person may do with operations of a kind, and why not.
struct SelectiveRow {
  What what;
  std::string_view drop, edit, insert;  ///< "" : it can be; else the reason why not
};
/// One row for each kind of operation, in their order.
const SelectiveRow& selective_row(What what);

struct Plan {
  OpRef to;                 ///< the operation that the branch begins at
  int checkpoint = 0;       ///< where the replay goes on; 0: from the beginning
  std::string folder;       ///< of that checkpoint
  std::int64_t source = 0;  ///< the case whose submission is done again
  Work work;
  std::vector<OpRef> rest;  ///< repairs that follow on what a person does now
  OpRef drops;              ///< a checkpoint that is only crossed out: nothing is gone back to
  Json to_json() const;
};

/// What is asked for: "17.4", the number of a checkpoint, or "start".
struct Wanted {
  Ask ask = Ask::rewind;
  std::string op;
};
/// Errors: not_found (no such operation), conflict (with the reason), bad_input.
Result<Plan> make_plan(const State& state, const Part& part, const Wanted& wanted);

/// What a replay from `ref` would be made of, and the case whose submission it does again.
struct Made {
  Work work;
  std::int64_t source = 0;
};
Made made_at(const State& state, const OpRef& ref);

/// The repairs that `ref` (a rewind, or a repair after one) still has to do again, of its branch.
std::vector<OpRef> rest_of(const State& state, const OpRef& ref);

}  // namespace sickbay::history
