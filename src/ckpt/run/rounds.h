// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a job whose program goes on meanwhile: rank 0 sees when one is due, all ask their
// programs, and save together what these have written.
//
// A round on the board "ask": rank 0 says *ready* (each process removes the old done file and sees whether
// its program can be asked), then *ask*, and when all have told the same label, *save*: all take the
// checkpoint. What goes wrong in one is told, and rank 0 says *drop*.  A program that computes on may be
// asked by several processes one after the other and write more than once: so each tells a label again when
// it changes, and rank 0 waits a while for all to be one.  *end*: there will be no more.
//
// No process waits for one that has ended: its last answer says so.  All words carry the number of the run,
// so that none of an earlier one in the same session is heard.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "ckpt/due.h"
#include "ckpt/run/watched.h"
#include "ckpt/take.h"

namespace sickbay::ckpt {

struct RoundsWish {
  Rhythm rhythm;
  std::int64_t run = 1;  ///< the same of all processes
  Waiting waiting;       ///< its clock and patience; pauses are those of the program
  bool at_end = false;   ///< one more when all have ended well
  /// Once a program has ended, others are waited for at most so long (and `waiting.patience`).
  Micros after_end = std::chrono::minutes(5);
  /// Called now and then while no round is under way, in each process: its own look around (leaving.h).  May
  /// be null.
  std::function<void()> look_around{};
};

/// One that all are to take part in.  Errors do not end anything.
struct RoundsTake {
  std::int64_t turn = 0;
  std::string label;
  Micros asked{0};                     ///< how long the program took to write
  std::function<Status()> still_so{};  ///< as TakeWish's
};
using TakeTogether = std::function<Result<Taken>(const RoundsTake&, const Waiting&)>;

/// What rank 0 tells its owner; the others tell nothing.
struct RoundsNews {
  std::function<void(const Taken&, const std::string& label, DueWhy)> taken;
  std::function<void(const Error&)> failed;
};

/// Until the program of this process has ended.  Errors: the board cannot be made.
Status keep_rounds(Series& series, const Participant& me, Watched& program, const RoundsWish& wish,
                   const TakeTogether& take, const RoundsNews& news);

}  // namespace sickbay::ckpt
