// SPDX-License-Identifier: Apache-2.0
// Sentences and advice that need more than the row of the verdict: what a completed job hides, which file to
// look at, what to do for jobs that wait for this one.
#pragma once
#include <string>

#include "engine/identify/case.h"

namespace sickbay::identify {

/// Of a job that completed: with a step that failed, where one did.
std::string completed_sentence(const Run& first);
/// The name of a file of the run's batch script.  libslurm 22.05 writes out %j, %A, %a, %u and %x, and leaves
/// %N, %n, %t, %s and widths (%5j) as they are (tried); "" where a pattern cannot be told.
std::string written_name(const std::string& path, const Run& run);
/// The file with the last words of a run, its name written out; "" where there can be none.
std::string output_to_look_at(const Run& run);
/// --deliver: what to do for jobs that wait for the failed one; "" where no run of ours is its result.
std::string dependents_advice(const Case& subject);
/// --deliver, a node is the cause, and the case is about to close: why there is no result all the same; ""
/// where there is one, or none was promised.
std::string undelivered_note(const Case& subject);

}  // namespace sickbay::identify
