// SPDX-License-Identifier: Apache-2.0
// From the fast places of the nodes to shared storage, by a process beside each process of the program
// (`sickbay-ckpt flush`, flusher.h), while the program computes on.
//
// Rank 0's says on the board which checkpoint it is: the newest that was noted on the way that the job is on.
// Each copies its own pack and those it stands on, reads them back and says so; when all have, rank 0's
// writes the control file, and only then does the checkpoint exist on shared storage.  An older one that was
// not flushed by then is passed over.  What fails changes nothing: the next flush brings what is missing.
//
// What must hold: with a fast place only rank 0's flush removes anything from the store on shared storage, so
// that no pack goes that another process has found there and stands on.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/retention.h"
#include "ckpt/board.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

/// Checkpoints that stay in a fast place.
inline constexpr std::size_t kKeptFast = 2;

struct FlushWish {
  std::int64_t number = 0;             ///< at least this one; 0: the newest there is
  checkpoint::RetentionLimits keep{};  ///< on shared storage; of rank 0
  /// Another try of what failed before: of all processes, or of none.
  bool again = false;
  /// Leave it to another process of this rank that waits to begin, where there is one.
  bool in_background = false;
  /// The first word of every process must come within this (and the patience); then each has the patience.
  /// Not in the background, rank 0's words must come within it, too.
  Micros begin = std::chrono::minutes(5);
};

struct Flushed {
  std::int64_t number = 0;  ///< the newest on shared storage; 0: none, or it is another process's to do
  std::uint64_t bytes = 0;  ///< copied by this process
  std::vector<std::string> notes{};
};

/// Until the newest checkpoint that is noted is on shared storage, or it failed.  All processes of the
/// session are to call it.  Errors: of this or another process: storage_full, not_found (a fast place was
/// lost), bad_input (what lies there is damaged), timed_out; denied, storage_broken.
Result<Flushed> flush(Series& series, const Participant& me, const FlushWish& wish, const Waiting& waiting);

}  // namespace sickbay::ckpt
