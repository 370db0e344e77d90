// SPDX-License-Identifier: Apache-2.0
// The built-in operations of node diagnosis: what each is called, takes, gives and costs.
//
// ONE table.  adapters/node runs them by it, the engine's lint knows from it what `builtin:NAME` puts out,
// doc/operations.md is printed from it, and import-nhc looks here for an equal of a check.  Output names are
// unique in the whole table, so that a specification can take them as names of its characteristics.
// Source: doc/design/diagnose.md.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/value.h"

namespace sickbay {

struct BuiltinArgument {
  std::string_view name;
  ValueType type;
  /// Its default as JSON; "" where the argument must be given.
  std::string_view standard;
  std::string_view meaning;
};

struct BuiltinOutput {
  std::string_view name;
  ValueType type;
  std::string_view unit;     ///< "B", "percent", "s", "count" ..., "" for bool and words
  std::string_view meaning;  ///< also what it means that there is none (null: unknown)
  std::string_view range;    ///< for people: "0 to 100", "at least 0"
};

/// Where an operation runs.
enum class BuiltinPlace : std::uint8_t {
  inline_,  ///< on the loop: reads files of /proc and /sys, microseconds
  thread,   ///< on a worker thread: may wait for a disk or a peer
  child,    ///< asks another program, in a child with the operation's limits
  program,  ///< is itself a program of the shipped operations folder, of the same name
  agent,    ///< done by the agent through sickbayd (critical operations)
};
std::string_view to_string(BuiltinPlace place);

struct BuiltinOperation {
  std::string_view name;  ///< `"run": "builtin:NAME"`
  std::string_view kind;  ///< as in a specification: what it is for; a collecting one may also verify
  BuiltinPlace place;
  std::string_view meaning;
  std::string_view cost;   ///< for people: "20 us"
  std::string_view needs;  ///< what must be there; else the result is unknown
  std::vector<BuiltinArgument> arguments;
  std::vector<BuiltinOutput> outputs;
  bool stress = false;  ///< a job beside it would feel it: by itself it needs an idle node
};

/// In the order of the documentation: by kind, then as a reader looks for them.
const std::vector<BuiltinOperation>& builtin_operations();
/// The one of that name (without "builtin:"), or null.
const BuiltinOperation* builtin_operation(std::string_view name);

/// All arguments of a call to `operation`: those of `given`, else the input of the same name, else the
/// default.  Errors: bad_input (one that the operation does not know, with the nearest name; a wrong type;
/// one that must be given and is not).
Result<Json> builtin_arguments(const BuiltinOperation& operation, const Json& given, const Json& inputs);

/// doc/operations.md.
std::string builtin_operations_page();

}  // namespace sickbay
