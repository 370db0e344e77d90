// SPDX-License-Identifier: Apache-2.0
// Identical failures share one experiment.
//
// A user who submits the same broken job a hundred times has one question, and one experiment answers it.  A
// case whose first run failed as that of an older case did (the same owner, script, arguments, options,
// inputs and size; the same end and, by its output, the same message) joins that case: it starts nothing, and
// takes over its verdict, saying so.  Where that verdict does not explain it, for it blames nodes on which
// this job never ran, the case leaves and finds out for itself.  Source: doc/design/identify.md, "A re-run is
// harmless or asked for".
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// An older case of the same failure.
struct Leader {
  const Case* leader = nullptr;  ///< null: there is none
  bool unknown_yet = false;      ///< an output that was not read yet may show that there is one
};
Leader leader_for(const Known& known, const Case& subject);

/// Why the verdict of `leader` does not hold for `subject`, which had joined it; empty: it does, or is still
/// to come.
std::string reason_to_leave(const Case* leader, const Case& subject);
/// The verdict that `subject` has from the case that it has joined.
Verdict shared_verdict(const Case& leader, const Case& subject);

/// `message` without what differs between two runs of one program: numbers, and with them the names of most
/// nodes, ranks, job ids and addresses.
std::string without_numbers(std::string_view message);

/// For the view of a case: what it shares; null where it shares nothing.
Json shared_view(const Case& subject);
/// Cases besides that of the event that must be looked at again: they wait for its verdict.
std::set<std::int64_t> waiting_for(const State& state, const Event& event);

// --- for apply()

/// Notes the case among those that failed as it did.
void note_failure(State& state, Case& subject);
/// Takes it out of these again: it turns out to be no failure that an experiment explains.
void forget_kind(State& state, const Case& subject);
/// The case is in an archive.
void forget_failure(State& state, const Case& subject);
void on_case_joined(State& state, Case* subject, const Event& event);
void on_case_left(State& state, Case* subject, const Event& event);

inline constexpr std::string_view kCaseJoined = "case_joined";
inline constexpr std::string_view kCaseLeft = "case_left";

}  // namespace sickbay::identify
