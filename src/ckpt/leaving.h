// SPDX-License-Identifier: Apache-2.0
// A checkpoint before a node goes away: its agent says in a file since when the node is leaving
// (model/leaving.h), each process of the program looks at that of its own node, and one that sees it wishes
// for a checkpoint.
//
// The wish is a file of the board of its own, so that it is never written over what a user asks for.  It is
// the moment of the drain, and answered by any checkpoint that was begun after it, whoever asked for that: so
// when all nodes of a job are drained at once there is one checkpoint and not one for each.  The last moment
// counts; who finds an earlier one there in the place of his own writes once more.  What was said before the
// program began is none: it has nothing to lose yet.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "ckpt/participant.h"
#include "ckpt/series.h"

namespace sickbay::ckpt {

/// What a look at a file that is replaced by rename tells without reading it.
class FileMark {
 public:
  enum class Look : std::uint8_t { none, same, other };
  Look look(const std::string& path);

 private:
  std::int64_t inode_ = 0, changed_ns_ = 0;
};

/// board/leaving.
struct LeavingWish {
  std::string node;
  std::int64_t since_us = 0;
  std::string token() const;  ///< "leaving n3 1764086400000000"
  friend bool operator==(const LeavingWish&, const LeavingWish&) = default;
};
std::string leaving_path(const Series& series);
/// Nothing: there is none, or a file that is none.
std::optional<LeavingWish> read_leaving_wish(const Series& series);
/// Replaces what was there.  Errors: those of write_whole; usage: a name that cannot be a node's.
Status write_leaving_wish(const Series& series, const LeavingWish& wish);

/// Wishes up to that moment (microseconds) have their answer.
std::int64_t leaving_answered(const SeriesState& state);
/// Is it a wish still, where those up to `answered` have their answer, of a program that has run since
/// `started`?
bool is_open(const LeavingWish& wish, std::int64_t answered, TimePoint started);
/// Of rank 0: it was answered, by a checkpoint or none.  Errors: as write_state.
Status note_leaving_answer(const Series& series, const LeavingWish& wish);

/// SICKBAY_LEAVING_FILE, with %N, %n, %t, %j for this process's (participant.h); where it is not set, the
/// file of the node's agent; "" where it is no absolute path ("none") or cannot be filled in: nothing is
/// looked at.
std::string leaving_file(const Variable& variable, const Participant& me);
/// What the file says; nothing where it is not there, is no regular file of `owner`'s that he alone may
/// write, or says anything else.
std::optional<TimePoint> read_leaving_file(const std::string& path, std::uint32_t owner);

/// One process's looks at its own node.
class LeavingLook {
 public:
  /// `owner`: whose file is believed.
  LeavingLook(std::string file, const Participant& me, TimePoint started, std::uint32_t owner = 0);
  /// At most once a second, however often it is called; else nothing is done.
  void look(const Series& series, TimePoint now);

 private:
  std::string file_, node_;
  TimePoint started_, next_;
  std::uint32_t owner_;
  FileMark mark_;
  std::optional<TimePoint> since_;
  std::int64_t done_us_ = 0;  ///< since then there is nothing more to do
};

}  // namespace sickbay::ckpt
