// SPDX-License-Identifier: Apache-2.0
// How a run failed, in words for people: the best known cause first, for an exit code may be anybody's.
#pragma once
#include <string>

#include "engine/identify/case.h"

namespace sickbay::identify {

/// How a failed run failed, the cause first where its output says one: "failed: Assertion `n > 0' failed.
/// (SIGABRT on n2)", "died of SIGBUS on n2", "ended as FAILED with exit code 3".
std::string failure_words(const Run& run);
/// Its output says why it ended, and not only that it did.
bool says_why(const Run& run);
/// How it failed, for brackets behind a sentence: why, or that it gave up, as its output says, else the
/// signal of its own that it died of; "" where nothing but an exit code is known.
std::string words_in_brackets(const Run& run);
/// Of a run that Run::hangs_at_its_end(): "its work was done, and the MPI library did not end (...)".
std::string words_of_hang_at_its_end(const Run& run);

}  // namespace sickbay::identify
