// SPDX-License-Identifier: Apache-2.0
// A checkpoint of all processes of a session: each saves what it has, and only when all have does it exist.
//
// Rank 0 chooses the number; each process writes its pack and tells its image on the board; rank 0 writes the
// control file when it has heard of all, and says so.  One that fails, comes too late or speaks of another
// state (label) fails the checkpoint of all, and the one before stays the newest.  How many checkpoints a
// process has taken part in is kept on the board, so that one that was left behind never joins the wrong one.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/retention.h"
#include "ckpt/board.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

struct TakeWish {
  std::string label{};  ///< what the program calls the state; the same of all processes
  bool full = false;
  int threads = 0;
  std::string binary{};  ///< of rank 0, as what follows
  std::optional<checkpoint::Digest> binary_digest = std::nullopt;
  std::int64_t fewest = 0, most = 0;  ///< processes that can go on from it; 0: as many as there are now
  checkpoint::RetentionLimits keep{};
  /// Why this process has nothing to save: it takes part all the same, so that nobody waits for it in vain,
  /// and fails the checkpoint of all.
  std::optional<Error> unable = std::nullopt;
  Micros asked{0};        ///< how long the program took to write its files: part of the cost
  std::int64_t turn = 0;  ///< of this checkpoint, where the caller counts them: the same of all, rising
  std::function<Status()> still_so{};  ///< asked when all is saved: is that state one?  May be null
};

struct Taken {
  std::int64_t number = 0;
  std::optional<std::int64_t> parent = std::nullopt;  ///< what it went on from
  std::uint64_t raw = 0, written = 0;                 ///< of rank 0: of all processes; else of this one
  Micros took{0};
  std::vector<std::string> notes{};
  bool fast = false;  ///< it is in fast places of nodes; of rank 0: in that of any; else of its own
};

/// With a fast place (Series::fast) each process saves there, and on shared storage where it has no room.
/// Where one has saved in its fast place, the checkpoint is one that a loss of that node can end; who calls
/// this flushes it then, and ends what `wish.keep` does not keep: with a fast place nothing of older ones is
/// removed here.
/// Errors: conflict: the processes do not agree, or a file changed meanwhile; busy: another checkpoint of
/// this job is being taken; timed_out; those of Store::save and of `still_so`, also another process's.
Result<Taken> take_checkpoint(Series& series, const Participant& me,
                              std::span<const checkpoint::Source> sources, const TakeWish& wish,
                              const Waiting& waiting);

}  // namespace sickbay::ckpt
