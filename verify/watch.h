// SPDX-License-Identifier: Apache-2.0
// Watch: who of a step's ranks has fallen silent, and when waiting for it is in vain.
//
// A stopped process, a frozen control group or a disk that never answers would hold up the whole step until
// its time limit, and all that is known until then is that it is not over.  So the ranks tell that they go on
// (beat.h), and the step is ended as soon as nobody who has not come to his end goes on.  It is not ended
// while anybody does: one that is silent costs the others nothing.
//
// To start a rank may take long, so nothing is concluded about one that was never heard, but where the nodes
// of the step are named: then who has not said his first word when it is ended is named as silent, too, and
// one of which nobody was heard is ended, though nobody began.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sickbay::verify {

struct WatchLimits {
  double silence = 30;  ///< seconds without a line; a rank beats every two
  double stuck = 120;   ///< seconds in which it beats, and its work does not go on
  double first =
      150;  ///< seconds without the first word of any: longer than srun takes to say that it cannot launch
};

/// A rank that was waited for in vain.
struct Gone {
  std::string node;
  int rank = 0;
  std::string mode;
  std::string detail;  ///< for people: for how long, after which phase, while how many others came to the end
};

/// Pure: lines and time come from outside.
class Watch {
 public:
  /// `nodes`: where the ranks are, one on each, in their order; empty: not known.
  Watch(int ranks, WatchLimits limits, std::vector<std::string> nodes = {})
      : ranks_(ranks), limits_(limits), nodes_(std::move(nodes)) {}

  /// Takes in a line of the step; true where people and V's reader want it, false for a mere "alive".
  bool hear(std::string_view line);
  /// So much time went by in which lines could have been heard.  (Where the watcher itself did not run,
  /// nothing is known of the others.)
  void pass(double seconds);
  /// Not all have come to their end, and nobody who has not goes on.
  bool in_vain() const;
  /// Who does not go on.  Of a step of "net" those alone that are silent: who merely waits there waits for
  /// them.
  std::vector<Gone> gone() const;

 private:
  struct Rank {
    std::string node, mode, after;
    bool done = false;
    std::uint64_t ticks = 0;
    double silent = 0, stuck = 0;
  };
  bool goes_on(const Rank& rank) const {
    return !rank.done && rank.silent < limits_.silence && rank.stuck < limits_.stuck;
  }
  int ranks_;
  WatchLimits limits_;
  std::vector<std::string> nodes_;
  std::map<int, Rank> heard_;
  double quiet_ = 0;  ///< since anybody said something new
};

/// The line of a rank that is gone.
std::string line_of(const Gone& gone);

/// Runs `command` (an srun) with its standard output watched, and handed on line by line.  Where it is waited
/// for in vain the lines of those who are gone follow, and it is ended: by SIGTERM, which srun makes a
/// SIGKILL of all its tasks, and where that does not end it by SIGKILL after `grace` seconds.  Returns its
/// exit code, or 1 where it was ended.
int run_watched(Watch watch, double grace, const std::vector<std::string>& command);

}  // namespace sickbay::verify
