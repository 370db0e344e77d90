// SPDX-License-Identifier: Apache-2.0
// The words of a verdict: what `sickbay why` prints of it.  Which verdict it is: verdict.h.
#pragma once
#include <string>
#include <vector>

#include "engine/identify/verdict.h"

namespace sickbay::identify {

/// What a verdict tells besides its row.
struct Told {
  std::vector<std::string> links;   ///< "n1 - n2": network links that V convicts
  std::vector<std::string> reused;  ///< nodes of the first run on which the second ran again
};

/// Fills in sentence, why, missing and next of `verdict`, whose cause and nodes stand.  Pure.
void put_in_words(const Case& subject, const Row& row, const Told& told, Verdict& verdict);

}  // namespace sickbay::identify
