// SPDX-License-Identifier: Apache-2.0
// Job arrays: one case for the array, and one more for each of a few tasks that failed.
//
// The array's case watches all tasks and does no experiment.  A task that failed gets a case of its own,
// which is like any other from then on: its first run is the task.  Which tasks get one is bounded twice, so
// that a thousand tasks with one bug cost three experiments: at most `array_cases` are open at a time, and of
// tasks that ended alike (state, exit code, signal) three are looked into, on different nodes where there are
// such. More only when all three blame nodes that the others did not use.  The rest is told as "same failure
// as task K".  The array's verdict counts, and names what the cases of its tasks found; it blames no node
// itself, for they have done so.  Source: doc/design/identify.md, "Job arrays".
#pragma once
#include <string>

#include "engine/identify/identify.h"

namespace sickbay::identify {

inline constexpr int kAlikeCases = 3;     ///< cases of tasks that ended alike
inline constexpr int kRoundsOfCases = 4;  ///< an array has at most so many times `array_cases`, ever

/// The failed task that `failure` is told to be like, or null: none, or it has a case itself.
const TaskFailure* same_failure(const State& state, const TaskArray& array, const TaskFailure& failure);
/// The failed task that gets a case next, or null.  Pure.
const TaskFailure* next_task_case(const State& state, const Policy& policy, const TaskArray& array);
/// A case of a task is open.
bool has_open_task_case(const State& state, const TaskArray& array);
/// What the array comes to: every task has ended and every case of a task is closed.
Verdict array_verdict(const State& state, const Case& subject);

/// The event that opens the case of a task.  It has no subject yet: only the seat knows which numbers are
/// given (name_task_case).
Event task_case(const Case& parent, const TaskFailure& failure);
void name_task_case(Event& event, std::int64_t no);

// --- apply(): array.cc
void open_array(Case& subject, const Event& event);
void bind_array(State& state, Case& subject, const Event& event);
void open_task_case(State& state, Case& subject, const Event& event);
void on_array_seen(State& state, const cluster::View& view, Case* subject, const Event& event);
void lose_tasks(Case& subject, const Event& event);

/// The case of a task, by the array's job id; the array's own case where the task has none; null: no array.
const Case* case_of_task(const State& state, const TaskName& name);
/// How the task stands, in words: "completed", "failed (exit code 3): the same failure as task 4, c18".
std::string task_words(const State& state, const Case& array_case, TaskId task);
/// The array of a case, as the API shows it; null for a case of no array.
Json array_view(const State& state, const Case& subject);

}  // namespace sickbay::identify
