// SPDX-License-Identifier: Apache-2.0
#include "ckpt/agree.h"

#include <fmt/format.h>

namespace sickbay::ckpt {

// The count is in this process's own last answer on the board: a process that starts anew in the same session
// (a shell command each time) goes on from it.
Result<std::int64_t> next_turn(const Board& board, const Participant& me) {
  const auto mine = board.answered(me.rank);
  if (!mine) return tl::unexpected<Error>(mine.error());
  return *mine ? (**mine)["turn"].as_int() + 1 : 1;
}

Result<std::unique_ptr<checkpoint::FileLock>> lock_for(Series& series, const Participant& me) {
  auto lock = me.rank == 0 ? series.store.lock()
                           : series.files->lock(fmt::format("{}/lock.r{}", series.board, me.rank));
  if (lock) return lock;
  // A file system without locks: better a checkpoint that two could disturb than none.
  if (lock.error().code == ErrorCode::storage_broken) return std::unique_ptr<checkpoint::FileLock>();
  if (lock.error().code != ErrorCode::busy) return lock;
  return fail(Error(ErrorCode::busy,
                    fmt::format("another process works on the checkpoints in {}", series.store.folder()))
                  .remedied_by("wait until it has ended; two programs of one job take --name, each its own"));
}

void end_old(checkpoint::Files& files, checkpoint::Store& store, const checkpoint::RetentionLimits& keep,
             TimePoint now, std::vector<std::string>& notes) {
  if (!keep.count && !keep.age && !keep.bytes) return;
  auto kept = checkpoint::kept_in(files, store);
  const auto ends = kept ? choose_ends(std::move(*kept), keep, now) : std::vector<std::int64_t>();
  const auto removed = !kept || ends.empty() ? Result<std::uint64_t>(0) : store.remove(ends);
  if (!kept) notes.push_back("no older checkpoint was removed: " + kept.error().line());
  if (!removed) notes.push_back("an older checkpoint stays: " + removed.error().line());
}

Status say_in_turn(Board& board, Json what) {
  const auto before = board.said();
  if (!before) return tl::unexpected<Error>(before.error());
  if (!*before) return board.say(std::move(what));
  // The end of the turn before rides along, without what only its beginning needs.
  const std::int64_t turn = what["turn"].as_int();
  if (const auto last = said_in_turn(**before, turn - 1)) {
    Json kept = Json::object();
    for (const char* key : {"turn", "state", "error", "what"})
      if (last->has(key)) kept.set(key, (*last)[key]);
    what.set("last", std::move(kept));
  }
  return board.say(std::move(what));
}

std::optional<Json> said_in_turn(const Json& lead, std::int64_t turn) {
  if (lead["turn"].as_int() == turn) return lead;
  if (lead.has("last") && lead["last"]["turn"].as_int() == turn) return lead["last"];
  return std::nullopt;
}

}  // namespace sickbay::ckpt
