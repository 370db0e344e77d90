// SPDX-License-Identifier: Apache-2.0
// What a built-in operation sees and gives: its arguments, the machine, what it saw last time; its answer.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "adapters/node/tree.h"
#include "base/json.h"
#include "ports/operation_runner.h"
#include "ports/process_runner.h"

namespace sickbay::node {

class ProcessTable;

/// Counters as they stood at the last call, for "new since".  On the loop's thread only.
class Counters {
 public:
  struct Change {
    std::int64_t count;
    std::chrono::microseconds time;
  };
  /// The growth of `key` since the last call; nothing at the first one and after the counter fell (a reload
  /// of its driver, an overflow).
  std::optional<Change> since_last(const std::string& key, std::int64_t now) {
    const auto at = std::chrono::steady_clock::now();
    const auto [entry, first] = seen_.try_emplace(key, now, at);
    const auto [before, when] = std::exchange(entry->second, {now, at});
    if (first || now < before) return std::nullopt;
    return Change{now - before, std::chrono::duration_cast<std::chrono::microseconds>(at - when)};
  }
  /// What was told under `key` at the last call, null at the first; `told` is kept for the next.
  Json told_before(const std::string& key, const Json& told) { return std::exchange(told_[key], told); }

 private:
  std::map<std::string, std::pair<std::int64_t, std::chrono::steady_clock::time_point>> seen_;
  std::map<std::string, Json> told_;
};

/// One call of a built-in operation.
struct Call {
  std::string operation;  ///< its name in the specification: counters are kept by it
  Json arguments;         ///< whole and of the right types (builtin_arguments)
  Json inputs = {};       ///< of the specification, as OperationCall has them
  std::vector<std::string> input_names = {};
  const Tree* tree = nullptr;
  Counters* counters = nullptr;       ///< null on a thread
  ProcessTable* processes = nullptr;  ///< null on a thread
  std::chrono::milliseconds time_limit{5000};
  std::shared_ptr<EarlyEnd> early_end = nullptr;  ///< may be null; null on a thread
  TimePoint now = kNoTime;
  const std::atomic<bool>* cancelled = nullptr;  ///< on a thread: nobody waits for the answer any more

  const std::string& text(std::string_view name) const { return arguments[name].as_string(); }
  std::int64_t integer(std::string_view name) const { return arguments[name].as_int(); }
  bool flag(std::string_view name) const { return arguments[name].as_bool(); }
  /// New counts of `what` since the last call of this operation, or null.
  Json since_last(std::string_view what, std::int64_t count) const {
    const auto change = counters->since_last(operation + '\n' + std::string(what), count);
    return change ? Json(change->count) : Json();
  }
};

inline OperationEnd found(Json outputs, std::string text = "") {
  return {OperationEnd::Result::ok, std::move(outputs), std::move(text), {}, {}};
}
inline OperationEnd failed(Json outputs, std::string text) {
  return {OperationEnd::Result::fault, std::move(outputs), std::move(text), {}, {}};
}
inline OperationEnd unknown(std::string why) {
  return {OperationEnd::Result::unknown, Json::object(), std::move(why), {}, {}};
}

/// The value, or null: unknown.
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
/// `part` of `whole` as a percent, rounded to a whole one, kept within 0 to 100; 0 of 0 is 0.
inline Json percent_of(double part, double whole) {
  return whole > 0 ? Json(std::llround(std::clamp(100.0 * part / whole, 0.0, 100.0))) : Json(0);
}
/// The same, rounded up, as df shows what is used: a limit means here what it means to df.
inline Json percent_up(double part, double whole) {
  return whole > 0 ? Json(static_cast<std::int64_t>(std::clamp(std::ceil(100.0 * part / whole), 0.0, 100.0)))
                   : Json(0);
}

/// An operation that asks other programs: what to run, one after the other, and what to make of it.
struct ChildPlan {
  std::vector<ProcessSpec> programs;
  std::function<OperationEnd(const std::vector<Result<ProcessOutcome>>&)> read;
  std::optional<OperationEnd> instead;  ///< no program is needed, or none can help
};

/// Bytes of a text from outside that an output of type string gets: what is longer is cut, not unknown.
inline constexpr std::size_t kMostShown = 240;

/// Where programs are looked for, below the root.
inline constexpr const char* kProgramFolders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                                  "/usr/bin",        "/sbin",          "/bin"};
/// `argv` with the PATH of the tree and no more environment than a program of the system needs.
ProcessSpec program_spec(const Call& call, std::vector<std::string> argv);
/// Why a program gave no answer that can be read: missing, timed out, killed; nothing where it ended by
/// itself.
std::optional<OperationEnd> no_answer(const std::string& program, const Result<ProcessOutcome>& outcome);

}  // namespace sickbay::node
