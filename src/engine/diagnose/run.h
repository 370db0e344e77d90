// SPDX-License-Identifier: Apache-2.0
// Run: one diagnosis of one node by one specification, from the initial characteristics to the end.
//
// apply() turns an event into state and is also all there is to a replay; decide() says which operations are
// to start now, and when the run is over.  Phases: examine (collect, test, localise; critical from the second
// step on, at the head of the queue), then repair, then verify, last critical once more.  A production fires
// at most once, so a run ends.  Two operations that share a component never run at the same time, and one
// that waits keeps its components from those behind it in the queue; apart from that every queued operation
// starts at once.
//
// The driver (the agent; rule tests) does, until over:
//   for each instance of decide(run).start: apply(OperationStarted), run call_of(run, instance)
//   when one has ended: apply(OperationFinished)
//
// Three things an operation does not do by its rule alone: change the node, stress it, and burden it or what
// nodes share while many others do.  Each needs a permission (Permits), by what the operation is and not by
// the names of a specification.  One that is refused ends at once as not run, its outputs unknown, so that
// nothing follows from it and the run goes on.
//
// No clock, no I/O.  Source: doc/design/diagnose.md, "A run"; paper 001, the scheme of diagnosis.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "engine/diagnose/rules.h"
#include "ports/operation_runner.h"

namespace sickbay::diagnose {

/// Kleene's three truth values.
enum class Truth : std::uint8_t { no, yes, unknown };
std::string_view to_string(Truth truth);

/// What somebody permits, or why not.
struct Permit {
  bool given = false;
  std::string why = "nobody permitted it";  ///< where it is not given: who forbids it, for people
};
/// What the operations of a run may do to the node.  Nothing is permitted unless said.
struct Permits {
  Permit repair;  ///< operations that repairs(): the site's, period's and request's word
  Permit stress;  ///< operations that needs_idle(): no job is on the node
  Permit active;  ///< operations that is_active(): not too many nodes run such ones
};
/// Why an operation may not run under `permits`, "repair not permitted: ..."; "" where it may.
std::string objection_to(const Rules::OperationRule& operation, const Permits& permits);

/// Begins the run.  `initial`: the modes and other characteristics of the period I, by name; names that the
/// specification has not and values of a wrong type are left out and noted in L.
/// `spent`: how often each repair with a budget already ran within its window.
struct RunStarted {
  TimePoint at = kNoTime;
  std::vector<std::pair<std::string, Value>> initial;
  std::map<std::string, int> spent;
  Permits permits = {};
  /// How often in a row, up to now, operations could not be told that give kUnknownRunsOutput.
  std::map<std::string, int> unknown_runs = {};
};
using InstanceId = Index;
struct OperationStarted {
  TimePoint at = kNoTime;
  InstanceId instance = kNone;
};
/// In place of OperationStarted: it may not start after all, for `why` (a job has come, say).
struct OperationRefused {
  TimePoint at = kNoTime;
  InstanceId instance = kNone;
  std::string why;
};
struct OperationFinished {
  TimePoint at = kNoTime;
  InstanceId instance = kNone;
  OperationEnd end;
};
/// Nothing more is started; the run is over when what runs has ended.
struct RunStopped {
  TimePoint at = kNoTime;
  std::string why;
};
/// One of them.  (No bare variant, for which std::apply would be found before ours.)
struct RunEvent {
  RunEvent(RunStarted e) : what(std::move(e)) {}
  RunEvent(OperationStarted e) : what(e) {}
  RunEvent(OperationRefused e) : what(std::move(e)) {}
  RunEvent(OperationFinished e) : what(std::move(e)) {}
  RunEvent(RunStopped e) : what(std::move(e)) {}
  std::variant<RunStarted, OperationStarted, OperationRefused, OperationFinished, RunStopped> what;
};

enum class Phase : std::uint8_t { before, examine, repair, verify, last, over };
std::string_view to_string(Phase phase);

/// What the run knows of a characteristic.
struct Fact {
  enum class State : std::uint8_t { none, known, unknown } state = State::none;
  Value value;
  std::string why;            ///< where it is unknown
  InstanceId source = kNone;  ///< that gave it; kNone: initial, or nothing yet
};

/// One queued operation.  Examinations have one instance in a run, others one for each production that fired.
struct Instance {
  enum class State : std::uint8_t { queued, running, ended } state = State::queued;
  Index operation = kNone, production = kNone;
  Phase phase = Phase::before;  ///< in which it was queued
  bool started = false;
  bool budget_spent = false;  ///< it was not run, for that reason
  bool refused = false;       ///< it was not run, for want of a permission: `text` says whose
  bool gave_way = false;  ///< a job came since the run began, or leave ended: not begun, or not to its end
  TimePoint started_at = kNoTime, ended_at = kNoTime;
  OperationEnd::Result result = OperationEnd::Result::unknown;
  std::string text;   ///< what the operation said, or why its result is unknown
  std::string lacks;  ///< it ended, and this is wrong with its answer: outputs that it did not give
  Json values = Json::object();  ///< of the predicate that queued it, then
};

/// One line of the diagnosis journal L.  The paper's lines are `predicate` and `operation`; the others say
/// where an answer was not what the specification expects, and where the order of ends could have made a
/// difference.
struct JournalEntry {
  enum class Kind : std::uint8_t {
    predicate,     ///< found true, for the first time in this run; name of the predicate
    operation,     ///< queued; name of the operation
    unknown,       ///< a characteristic became unknown; text: why
    overwritten,   ///< a characteristic got another value in the phase in which it had got one
    budget_spent,  ///< a repair was not run
    initial,       ///< an initial value was left out
    stopped,       ///< RunStopped
    refused,       ///< an operation was not run, for want of a permission
  } kind;
  TimePoint at = kNoTime;
  int step = 0;      ///< entries of one step of interpretation have one number
  std::string name;  ///< of the entry that it is about
  std::string text;  ///< its description, or the reason
  InstanceId instance = kNone;
};
std::string_view to_string(JournalEntry::Kind kind);

struct Run {
  explicit Run(std::shared_ptr<const Rules> r);
  std::shared_ptr<const Rules> rules;
  Phase phase = Phase::before;
  int step = 0;  ///< of interpretation; 1 is the initial one
  Permits permits;
  bool stopped = false;
  std::vector<Fact> facts;          ///< by characteristic
  std::vector<Instance> instances;  ///< in the order of queuing
  std::vector<InstanceId> queue;    ///< Q: not started yet, by priority, then order of queuing
  std::vector<InstanceId> running;
  std::vector<JournalEntry> journal;               ///< L
  std::vector<Truth> truths;                       ///< by predicate, as last evaluated
  std::map<Index, std::string> failed_predicates;  ///< those that could not be evaluated, and why
  std::vector<bool> fired;                         ///< by production
  std::map<Index, int> spent;                      ///< runs used, by operation with a budget
  std::map<Index, int> unknown_runs;               ///< in a row, with this run

  // What follows from the above, kept so that a step costs no more than what changed.
  struct Derived {
    std::vector<Index> missing;                 ///< characteristics without a value, by predicate
    std::vector<bool> evaluated, seen_true;     ///< by predicate
    std::vector<bool> waits;                    ///< by production: it stands in `waiting`
    std::vector<std::optional<Truth>> atoms;    ///< by atom; nothing: to be evaluated
    std::array<std::vector<Index>, 4> waiting;  ///< productions to look at: examine, repair, verify, critical
    std::vector<bool> in_use;                   ///< by component
    std::vector<InstanceId> examination;        ///< the one instance of an operation that examines
    std::vector<Phase> given_in;                ///< by characteristic
  } derived;
};

/// Total: an event that does not fit (an unknown instance, a second end) changes nothing.
void apply(Run& run, const RunEvent& event);

struct Decision {
  std::vector<InstanceId> start;  ///< in the order of the queue
  bool over = false;
};
/// Pure; says the same again until its events are applied.
Decision decide(const Run& run);

/// What the runner needs to run an instance: inputs that have no value are left out, unknown ones are null.
OperationCall call_of(const Run& run, InstanceId instance);
/// The same for an operation outside any run, as the helper of another node's: its inputs have no values.
OperationCall call_of_helper(const Rules& rules, Index operation);

/// The whole state as one text, for replay equality.
std::string canonical_text(const Run& run);

}  // namespace sickbay::diagnose
