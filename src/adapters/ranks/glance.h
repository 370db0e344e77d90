// SPDX-License-Identifier: Apache-2.0
// A glance: does each program of a job surely go on, for a fraction of what a whole look costs?
//
// As long as one rank of a program runs outside MPI, its ranks do not all wait for each other, and no hang
// can be told.  That is seen without reading a file of the user's: the thread runs, and neither its place nor
// any word of its stack points into the code of MPI's library.  A word that was left there by a call that is
// over only makes the answer "nobody can say"; so does a program that has MPI linked in, for it has no such
// library.
//
// A rank that is in MPI nearly always is hardly ever found outside.  Of one whose calls a whole look has
// named, the processor counts for a moment whether one of them returns (returns.h): what came back to the
// program was outside MPI then.  On a machine without such breakpoints the program's static variables are
// compared.  Both are what a look goes by, too: who moves it tells by variables, among others, and by the
// count.
//
// Where neither is seen a whole look is made (look.h).  Of each program the ranks are tried one after the
// other until one is found, beginning anywhere, so that it is not always the same one that is stopped for a
// moment.
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "adapters/node/tree.h"
#include "adapters/ranks/variables.h"
#include "base/time.h"
#include "model/rank_look.h"

namespace sickbay::ranks {

struct GlanceOrder {
  std::vector<std::vector<std::int64_t>> programs;  ///< the processes of each program's ranks here
  std::int64_t uid = -1;                            ///< whose they must be
  /// Since the node's start: who was begun later is somebody else, for pids are given again.
  TimePoint seen = kNoTime;
  /// Calls of MPI in which those of them were seen then that went on.
  std::vector<CallReturn> calls = {};
  std::size_t most = 8;                     ///< ranks of a program that are tried
  std::chrono::milliseconds patience{300};  ///< as LookOrder::patience
  std::chrono::milliseconds returning{25};  ///< for a call of one rank to return
  bool count_returns = true;                ///< false: as on a machine that has no breakpoints
};

/// Whether each of the programs has a rank that is seen to go on.  False where nobody can say.
bool surely_goes_on(const node::Tree& tree, const GlanceOrder& order);

/// Whether process `pid`, whose `variables` are compared, is seen to come back from one of the calls of it
/// that are known.  Of a program that has MPI as a library: else its variables change with each poll.
bool leaves_its_calls(std::int64_t pid, const GlanceOrder& order, Variables& variables);

/// How a row of glances ended.
enum class GlancesEnd {
  cannot_say,
  over,   ///< the time was
  early,  ///< all go on, and this process should end: a thread did not stop in time, and that lets it go; or
          ///< who started us is gone
};
/// surely_goes_on() again and again, each `again`, for `last`; at least once.  To start a program costs as
/// much as ten glances.
GlancesEnd glance_for(const node::Tree& tree, const GlanceOrder& order, std::chrono::milliseconds again,
                      std::chrono::milliseconds last);

}  // namespace sickbay::ranks
