// SPDX-License-Identifier: Apache-2.0
// What taking a checkpoint and going back to one share: turns and locks.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/retention.h"
#include "ckpt/board.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

/// Files can be gone on with on any number of nodes; processes are counted for themselves.
inline constexpr std::int64_t kAnyNodes = std::int64_t{1} << 31;

/// How often this process has taken part in this topic, and once more.
Result<std::int64_t> next_turn(const Board& board, const Participant& me);

/// That no other process of this rank works on the series; of rank 0 no other session.  Null where the file
/// system knows no locks.  Errors: busy.
Result<std::unique_ptr<checkpoint::FileLock>> lock_for(Series& series, const Participant& me);

/// Ends what `keep` does not keep in a store.  What fails is a note: it concerns no newer checkpoint.
void end_old(checkpoint::Files& files, checkpoint::Store& store, const checkpoint::RetentionLimits& keep,
             TimePoint now, std::vector<std::string>& notes);

/// Says `what` (with its "turn") as rank 0, together with how the turn before it ended: rank 0 can begin the
/// next one before a slow process has looked at the end of this one.
Status say_in_turn(Board& board, Json what);
/// What was said in `turn` where rank 0 is there still or one turn ahead; null where nobody can tell any
/// more.
std::optional<Json> said_in_turn(const Json& lead, std::int64_t turn);

}  // namespace sickbay::ckpt
