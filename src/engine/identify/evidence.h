// SPDX-License-Identifier: Apache-2.0
// Evidence across cases: what V said of a node for one case, as evidence and as an answer in the others.
//
// Twenty jobs that fail on the same nodes need one verification, not twenty; and who has a case open shall
// see at once what was found on his nodes since.  Three rules, no more (doc/design/identify.md, "Other
// cases"):
//   1. V that began after the run's end, within a day and the run's own symptom, convicts as its own V would;
//   2. one that began within the hour after the run's end acquits likewise;
//   3. any failure of V within a day of the run is shown, and decides nothing by itself.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/identify/identify.h"

namespace sickbay::identify {

/// Keeps what a verification said, for other cases, and shows its failures to those that are open.
void remember_words(State& state, const Case& subject, const Run& verification);
/// Gives `subject` what V said of the nodes of its `run` for other cases (rule 3).
void gather_words(const State& state, Case& subject, const Run& run);
/// The newest word on a node that answers for `run` (rules 1 and 2).  `asked`: the nodes that the case's own
/// V would be asked about; what does not convict counts only from a V that has spoken of them all.
std::optional<Word> word_for(const State& state, const Case& subject, const Run& run, const std::string& node,
                             const std::vector<std::string>& asked);
/// Until then V for another case has to begin, to acquit a node of `run`.
TimePoint acquits_until(const Run& run);
/// The verification of another open case that is on its way and will answer for all of `nodes` of `run`; ""
/// where there is none, or where it came too late to acquit them.  It is waited for: twenty cases on the same
/// nodes ask once.
std::string asked_by_another(const State& state, const Case& subject, const Run& run,
                             const std::vector<std::string>& nodes, TimePoint now);
/// verified_elsewhere: words that were taken as an answer become a verification of the case.
void on_verified_elsewhere(State& state, const cluster::View& view, Case* subject, const Event& event);
/// V was refused in the reservation that its nodes are in: says what an operator can do.
void note_reservation(Case& subject, const Run& verification);
/// Slurm's DerivedExitCode says that a step of this run, and not of one before its restart, failed.
bool has_failed_step(const Run& run);

/// `verified`: what V said of nodes outside of any case (engine/patrol) is evidence as that of another case.
void on_verified(State& state, const Event& event);

}  // namespace sickbay::identify
