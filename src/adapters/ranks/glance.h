// SPDX-License-Identifier: Apache-2.0
// A glance: does each program of a job surely go on, for a fraction of what a whole look costs?
//
// As long as one rank of a program runs outside MPI, its ranks do not all wait for each other, and no hang
// can be told.  That is seen without reading a file of the user's: the thread runs, and neither its place nor
// any word of its stack points into the code of MPI's library.  A word that was left there by a call that is
// over only makes the answer "nobody can say"; so does a program that has MPI linked in, for it has no such
// library. Then a whole look is made (look.h).  Of each program the ranks are tried one after the other until
// one is found, beginning anywhere, so that it is not always the same one that is stopped for a moment.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "adapters/node/tree.h"
#include "base/time.h"

namespace sickbay::ranks {

struct GlanceOrder {
  std::vector<std::vector<std::int64_t>> programs;  ///< the processes of each program's ranks here
  std::int64_t uid = -1;                            ///< whose they must be
  /// Since the node's start: who was begun later is somebody else, for pids are given again.
  TimePoint seen = kNoTime;
  std::size_t most = 8;                     ///< ranks of a program that are tried
  std::chrono::milliseconds patience{300};  ///< as LookOrder::patience
};

/// Whether each of the programs has a rank that runs outside MPI.  False where nobody can say.
bool surely_goes_on(const node::Tree& tree, const GlanceOrder& order);

}  // namespace sickbay::ranks
