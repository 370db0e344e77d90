// SPDX-License-Identifier: Apache-2.0
#include "ckpt/agree.h"

#include <fmt/format.h>

namespace sickbay::ckpt {

Result<std::int64_t> next_turn(const Board& board, const Participant& me) {
  const auto mine = board.answered(me.rank);
  if (!mine) return tl::unexpected<Error>(mine.error());
  return *mine ? (**mine)["turn"].as_int() + 1 : 1;
}

Result<std::unique_ptr<checkpoint::FileLock>> lock_for(Series& series, const Participant& me) {
  auto lock = me.rank == 0 ? series.store.lock()
                           : series.files->lock(fmt::format("{}/lock.r{}", series.board, me.rank));
  if (lock) return lock;
  if (lock.error().code == ErrorCode::storage_broken) return std::unique_ptr<checkpoint::FileLock>();
  if (lock.error().code != ErrorCode::busy) return lock;
  return fail(Error(ErrorCode::busy,
                    fmt::format("another process works on the checkpoints in {}", series.store.folder()))
                  .remedied_by("wait until it has ended; two programs of one job take --name, each its own"));
}

}  // namespace sickbay::ckpt
