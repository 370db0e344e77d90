// SPDX-License-Identifier: Apache-2.0
// Is a journal as it was written?  What is damaged, what is gone, and what can be kept.
//
// A damaged journal is not replayed (journal.h): state that came of a wrong bit would act on nodes.  So there
// must be a way on that loses as little as can be, and says what.  Source: doc/formats/journal.md, "Damage".
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay {

struct JournalCheck {
  struct Lost {
    std::int64_t first = 0, last = 0;  ///< events
    std::string subject;               ///< "": not known any more
    std::string why;
  };
  std::int64_t events = 0;  ///< that are whole, in this file
  std::vector<std::string> archives;
  std::vector<Lost> lost;
  std::vector<std::string> trouble;  ///< of the file itself: pages, index, balance

  bool is_whole() const { return lost.empty() && trouble.empty(); }
};

/// Reads all of the journal at `path` and of the archives beside it; changes nothing, and may run beside a
/// daemon.  Time: as a replay.  Errors: those of opening; a damage is no error.
Result<JournalCheck> check_journal(const std::string& path);

}  // namespace sickbay
