// SPDX-License-Identifier: Apache-2.0
// How one rank stands, from one look at it; and for how long it has stood so, from one look to the next.
//
// Processor time and states tell nothing: a rank that waits within MPI polls, and looks like one that
// computes.  What tells is the stack: whose user frames, outside the outermost call of MPI, hold the same
// bytes and saved registers in all rounds has not left that call; a loop that came back to it has counted, or
// has another result.  Whoever is outside MPI in any round, copies data or reads and writes files, goes on.
//
// That is no proof: a loop may keep its state on the heap or in a library's variables, and look the same each
// time.  Proven is a wait only where the processor itself has counted no return of the call, and where no
// other thread of the rank may go on by itself: what is not surely a thread of MPI's own, or one that only
// another thread of its process can wake, is a doubt.  Pure.  Source: doc/design/identify.md, "Hangs"; that
// samples of being in MPI or out of it tell a hang: ParaStack (Li et al., SC 2017).
#pragma once
#include <map>
#include <string>
#include <utility>

#include "model/rank_report.h"

namespace sickbay::hang {

/// What a look says of one rank.
struct Seen {
  Standing standing = Standing::unread;
  std::string call, path;     ///< as in RankGroup
  std::uint64_t held = 0;     ///< RankStack::held of one that waits or is still
  Micros proven{0};           ///< in this look, of one that waits
  Doubt doubt = Doubt::none;  ///< of one that waits
  std::string doubt_text;
  bool nowhere = false;  ///< nothing shows that it got on: it waits, or does nothing but ask MPI
  TimePoint first = kNoTime, last = kNoTime;  ///< rounds; the node's clock
};
/// Total: whatever the look holds.
Seen see(const Rank& rank);

/// Whether data may be on its way to ranks of this node: their own connections or the node's network carry
/// some, or some is not acknowledged.
bool data_on_its_way(const RankReport& report);

/// Remembers the looks of one node at one job.  A rank that was seen and is not there any more is told of as
/// ended for ten minutes: others may wait for it.
class History {
 public:
  /// Takes in a look and tells how the ranks stand: what an agent reports.
  RankReport take(const RankLook& look);

 private:
  void take_traffic(const RankLook& look, TimePoint begin, TimePoint end, RankReport& report);

  struct Known {
    std::int64_t pid = 0, size = -1;
    Seen seen;
    TimePoint since = kNoTime;
    Micros proven{0};                   ///< of all looks since, without a doubt between
    TimePoint nowhere_since = kNoTime;  ///< Seen::nowhere in all looks since
  };
  std::map<std::pair<std::string, std::int64_t>, Known> known_;  ///< by world and rank
  TimePoint calm_since_ = kNoTime;                               ///< since then nothing was on its way
  std::int64_t socket_bytes_ = -1;                               ///< as known last
  TimePoint socket_at_ = kNoTime;                                ///< and when
  TimePoint silent_since_ = kNoTime;                             ///< since then they carried next to nothing
};

}  // namespace sickbay::hang
