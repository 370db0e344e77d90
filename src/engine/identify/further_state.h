// SPDX-License-Identifier: Apache-2.0
// What a case knows of its further runs: those after the verdict that its failure does not repeat.  Plain
// values; what follows from them is said in further.h.
#pragma once
#include <string>

#include "base/time.h"

namespace sickbay::identify {

/// One order for further runs.  A later one takes the place of the one before it.
struct FurtherRuns {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  int round = 1;                     ///< of such orders in this case
  int first = 0;                     ///< number of the first program run that it may make
  int wanted = 0;                    ///< runs at most
  bool rotate = false;               ///< each on nodes that no run had before, not on chosen ones
  double node_hours = 0;             ///< of P that they may take
  std::string by;                    ///< who asked; "--until-verdict" where the submission did
  TimePoint asked_at = kNoTime;
};

}  // namespace sickbay::identify
