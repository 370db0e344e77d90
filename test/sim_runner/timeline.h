// SPDX-License-Identifier: Apache-2.0
// The timeline of a scenario: what happened, as lines for people and for comparison.
#pragma once
#include <string>
#include <vector>

#include "engine/history/account.h"
#include "engine/identify/identify.h"
#include "model/event.h"

namespace sickbay::sim {

/// One event as "SUBJECT WORD details"; empty for an event that a timeline leaves out.  `start` is the
/// scenario's: times in bodies are shown from there.
std::string event_line(const Event& event, TimePoint start);
/// What became of a job that has no case.
std::string stranger_line(const std::string& name, const JobInfo& job);
/// Whether an event only says who may act on what.
bool is_about_claims(const Event& event);
/// Whether it is a step before or after a re-run that found nothing to keep the run away.
bool is_about_place(const Event& event);
/// What is said of a failed job before anything is decided (engine/identify/provisional.h).
bool is_provisional_answer(const Event& event);
/// "    42.1s": seconds since the start.
std::string clock_text(Micros since_start);
/// All operations of all histories, with what each goes on from, and what failures cost.
std::vector<std::string> history_lines(const history::State& state);
/// The last lines of a scenario: each case with its verdict, runs and notes.
std::vector<std::string> closing_lines(const identify::Case& subject);

}  // namespace sickbay::sim
