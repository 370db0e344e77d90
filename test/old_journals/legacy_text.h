// SPDX-License-Identifier: Apache-2.0
// Today's state in the words of the version before the engines shared one.
//
// That version kept nodes twice: the identification engine had how they stood in Slurm, the drain engine had
// it too, with the breaker's partitions and who waited.  Both texts are put together again here from the
// shared cluster and from what each engine has kept, so that a journal of then can be compared byte for byte
// with what that version itself made of it.  What is new since has no place in it.
#pragma once
#include <string>

#include "service/seats/seats.h"

namespace sickbay {

/// What `identify::canonical_text(state) + drain::canonical_text(state)` of that version would say.
std::string legacy_text(const Seats& seats);

}  // namespace sickbay
