// SPDX-License-Identifier: Apache-2.0
// One look at the ranks of a job on this node: rounds of counters and snapshots, then the stacks' names.
//
// Two parts, since the second reads files of the user and must not do so with more than his rights: first all
// rounds, with the rights of whoever watches (ptrace), then, after `between` has given those rights up, the
// frames of what was copied.  A thread that has not run since its last snapshot (it sleeps, and its count of
// switches stands) is not stopped again: its stack is what it was.
//
// Where ranks wait, a look can prove it (`prove`): it counts whether the calls return that the look before
// saw them in (returns.h), tells which other threads may go on by themselves (others.h), and whether their
// own connections carry anything.
#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "adapters/node/tree.h"
#include "adapters/ranks/find.h"
#include "model/rank_look.h"

namespace sickbay::ranks {

struct LookOrder {
  std::size_t rounds = 3;                ///< 1 to kMostRounds
  std::chrono::milliseconds every{700};  ///< from round to round
  bool stacks = true;
  std::size_t most_stacks = 256;  ///< ranks whose stacks are taken; chosen anew at each look
  /// For one thread to stop; on a busy machine it must get a processor first, and costs nothing until then.
  std::chrono::milliseconds patience{300};
  std::chrono::milliseconds most_stopping{1000};   ///< of one round, for all snapshots
  std::chrono::milliseconds most_unwinding{3000};  ///< for all frames together
  std::size_t most_bytes = std::size_t{64} << 20;  ///< of all copies of stacks
  bool prove = false;
  std::vector<CallReturn> returns = {};  ///< where `prove`: to be counted, of those that are still ranks
};

/// Looks.  `between` is called once, when nothing of the ranks is read any more but their files; its error is
/// the look's.
Result<RankLook> look_at(const node::Tree& tree, FoundRanks found, const LookOrder& order,
                         const std::function<Status()>& between);

}  // namespace sickbay::ranks
