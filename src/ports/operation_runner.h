// SPDX-License-Identifier: Apache-2.0
// OperationRunner: runs one diagnosis operation on this node and gives back what it found.
//
// Built-in operations (adapters/node) and executables (adapters/posix) look alike from here.  Whatever goes
// wrong with an operation is `unknown` with a reason, never an Error: a check that cannot be made must not
// take a node out.  Source: doc/design/diagnose.md, doc/formats/operation.md.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "ports/early_end.h"
#include "ports/loop.h"

namespace sickbay {

/// One operation to run, as its specification describes it.
struct OperationCall {
  std::string operation;                      ///< its name in the specification
  std::string kind;                           ///< collect, test, localise, repair, verify, critical
  std::string run;                            ///< "builtin:NAME", or the file name of an executable
  std::vector<std::string> components;        ///< that it works on
  Json inputs = Json::object();               ///< values of its characteristics, by name
  std::vector<std::string> input_names = {};  ///< all of them, also those that have no value yet
  Json arguments = Json::object();            ///< constants of the specification
  std::chrono::milliseconds time_limit{5000};
  std::size_t memory_limit = std::size_t{64} << 20;  ///< bytes of address space beyond the program's own
  std::size_t output_limit = std::size_t{64} << 10;  ///< bytes of stdout
  /// The operation that is to run on another node meanwhile, its helper; what sickbayd gives of that node is
  /// the input `peer`.  Who runs operations by themselves knows nothing of it (agent/peered_operations.h).
  struct Peer {
    std::string specification, operation;
    std::string node;  ///< "": any
  };
  std::optional<Peer> peer = {};
  std::int64_t listens = 0;  ///< of a helper: it is ready when something listens on this TCP port; 0: at once
  /// Ends it before its time, as its time limit would; then it is unknown.  May be null.
  std::shared_ptr<EarlyEnd> early_end;
};

/// What came of it.
struct OperationEnd {
  enum class Result : std::uint8_t { ok, fault, unknown };
  Result result = Result::unknown;
  Json outputs = Json::object();  ///< the operation's own names; checked against their types by the engine
  std::string text;               ///< for people; the reason where the result is unknown
  Micros cpu{0}, wall{0};
  bool ended_early = false;  ///< its EarlyEnd was asked: no fault of the check that it does not know
};

class OperationRunner {
 public:
  virtual ~OperationRunner() = default;
  /// Starts the operation; `done` comes once, on the loop's thread, never from inside this call.
  virtual void run(OperationCall call, std::function<void(OperationEnd)> done) = 0;
};

}  // namespace sickbay
