// SPDX-License-Identifier: Apache-2.0
// A board in a folder that all processes of a session see: the first of them (rank 0) leads by one file that
// it writes over and over, and each answers in a file of its own.
//
// No process waits for another but by looking at these files, so that nothing is needed of MPI or of a
// network: what is shared is the storage that checkpoints are kept on.  A file is replaced by rename, so it
// is read whole.  Two processes of one rank would answer for each other: the caller holds a lock.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"
#include "checkpoint/files.h"
#include "ckpt/participant.h"

namespace sickbay::ckpt {

/// How one waits for others, and for how long.
struct Waiting {
  std::function<TimePoint()> now;
  std::function<void(Micros)> pause;
  Micros patience = std::chrono::minutes(30);  ///< without anything new; then: timed_out
  std::function<Status()> still{};  ///< asked between two looks; an error ends the wait.  May be null
};
/// By the system's clock.
Waiting real_waiting(Micros patience);

class Board {
 public:
  /// Of one topic ("save") in `folder`, which is made.  With one process no file is written.
  static Result<Board> open(checkpoint::Files& files, std::string folder, const Participant& me,
                            const std::string& topic);

  /// What rank 0 says from now on, and what it has said last.
  Status say(Json what);
  Result<std::optional<Json>> said() const;
  /// What this process answers from now on, and what one has answered last.
  Status answer(Json what);
  Result<std::optional<Json>> answered(std::int64_t rank) const;

  /// Waits until rank 0 says what `fits`.  Errors: timed_out, those of `waiting.still`.
  Result<Json> hear(const Waiting& waiting, const std::function<bool(const Json&)>& fits) const;
  /// Waits until all ranks have answered what `fits`; by rank.  Errors: timed_out: names who has not; those
  /// of `waiting.still`.
  Result<std::vector<Json>> gather(const Waiting& waiting,
                                   const std::function<bool(const Json&)>& fits) const;

 private:
  Board(checkpoint::Files& files, std::string folder, const Participant& me, std::string stem)
      : files_(&files),
        folder_(std::move(folder)),
        stem_(std::move(stem)),
        rank_(me.rank),
        ranks_(me.ranks) {}
  Result<std::optional<Json>> read(const std::string& name) const;
  Status write(const std::string& name, const Json& what);

  checkpoint::Files* files_;
  std::string folder_, stem_;
  std::int64_t rank_ = 0, ranks_ = 1;
  std::optional<Json> lead_, own_;  ///< of a single process
};

/// Removes what sessions of earlier starts of this job left; what cannot be removed stays.
void tidy_board(checkpoint::Files& files, const std::string& folder, const Participant& me);

}  // namespace sickbay::ckpt
