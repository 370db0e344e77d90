// SPDX-License-Identifier: Apache-2.0
// How one rank stands, from one look at it; and for how long it has stood so, from one look to the next.
//
// Processor time and states tell nothing: a rank that waits within MPI polls, and looks like one that
// computes.  What tells is the stack: whose user frames, outside the outermost call of MPI, hold the same
// bytes and saved registers in all rounds has not left that call; a loop that came back to it has counted, or
// has another result.  Whoever is outside MPI in any round, copies data or reads and writes files, goes on.
// Pure.  Source: doc/design/identify.md, "Hangs"; that samples of being in MPI or out of it tell a hang:
// ParaStack (Li et al., SC 2017).
#pragma once
#include <map>
#include <string>
#include <utility>

#include "model/rank_report.h"

namespace sickbay::hang {

/// What a look says of one rank.
struct Seen {
  Standing standing = Standing::unread;
  std::string call, path;                     ///< as in RankGroup
  std::uint64_t held = 0;                     ///< RankStack::held of one that waits or is still
  TimePoint first = kNoTime, last = kNoTime;  ///< rounds; the node's clock
};
/// Total: whatever the look holds.
Seen see(const Rank& rank);

/// Remembers the looks of one node at one job.  A rank that was seen and is not there any more is told of as
/// ended for ten minutes: others may wait for it.
class History {
 public:
  /// Takes in a look and tells how the ranks stand: what an agent reports.
  RankReport take(const RankLook& look);

 private:
  struct Known {
    std::int64_t pid = 0, size = -1;
    Seen seen;
    TimePoint since = kNoTime;
  };
  std::map<std::pair<std::string, std::int64_t>, Known> known_;  ///< by world and rank
};

}  // namespace sickbay::hang
