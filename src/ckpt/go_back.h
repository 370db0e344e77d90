// SPDX-License-Identifier: Apache-2.0
// All processes of a session go back to one checkpoint: the newest that is whole for every one of them.
//
// Rank 0 names a checkpoint; each process reads and checks what is its own, beside the places, and says
// whether it is whole; only when all have said so does any file take its place.  What is damaged for one is
// passed over by all, so that no two ever go on from different ones.  Where a process finds what is its own,
// in its fast place or on shared storage, is its own matter: the control file says what it must be.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ckpt/board.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

struct BackWish {
  std::int64_t from = 0;  ///< not newer than this; 0: the newest
  /// Of a replay: this one at first, and later what the replay itself took, or fell back to.
  std::int64_t begin_at = 0;
  std::string target{};  ///< the folder of the program
  int threads = 0;
  std::optional<checkpoint::Digest> binary_digest = std::nullopt;
  checkpoint::MemoryTarget* memory = nullptr;  ///< of the program that asks; null: it has files alone
};

struct WentBack {
  std::int64_t number = 0;  ///< 0: there is none yet
  std::string label;
  std::uint64_t raw = 0;  ///< bytes of this process's files; of rank 0: of all
  Micros took{0};
  std::vector<std::string> notes{};
  bool fast = false;      ///< this process read it from its fast place
  std::int64_t turn = 0;  ///< how often this session has gone back; the same of all processes
};

/// Images are shared out over the processes there are, where these are fewer or more and the program can take
/// that.  No checkpoint at all is no error (number 0), but for one that was asked for.
/// Errors: those of way_back and check_fit; bad_input: none is whole; busy; timed_out; conflict: other parts
/// of memory than the checkpoint's; storage_full, also of another process.
Result<WentBack> go_back(Series& series, const Participant& me, const BackWish& wish, const Waiting& waiting);

}  // namespace sickbay::ckpt
