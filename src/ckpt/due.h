// SPDX-License-Identifier: Apache-2.0
// When a checkpoint is due: pure, no clock and no file, so that every way to run a job decides alike.
//
// A checkpoint costs time, and so does what is computed once more after a failure.  The rhythm is one that
// was given, or Daly's from what the last ones cost.  Beside it: one before the job's limit, and whenever
// somebody asks.  Whoever asks writes a word of his (token); one that is not the last that was done is a
// wish.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace sickbay::ckpt {

/// How often.  With neither `every` nor `mttf` there is no timer.
struct Rhythm {
  std::optional<Micros> every{};            ///< of work between two; goes before `mttf`
  std::optional<Micros> mttf{};             ///< mean time between failures that hit the job: Daly
  Micros first = std::chrono::seconds(60);  ///< by Daly, before a cost is known: so that one is
  std::optional<Micros> before_end{};       ///< room before the job's limit; 0: none; else by cost
};

struct DueFacts {
  TimePoint now, started;  ///< of the program
  TimePoint last;          ///< end of the last checkpoint, also of one that failed; at first `started`
  std::optional<Micros> cost;
  TimePoint job_end = kNever;
  bool ended_taken = false;       ///< the one before the limit was tried
  std::string asked, asked_done;  ///< the token that is there ("": none), and the one that was done last
};

enum class DueWhy : std::uint8_t { no, before_end, asked, timer };
/// "before_end"; for messages.
const char* due_why_name(DueWhy why);

/// Work between two; nothing: no timer.  At least a second by Daly.
std::optional<Micros> interval_of(const Rhythm& rhythm, const std::optional<Micros>& cost);
/// When the one before the limit is to begin: `before_end`, else 60 s or three times the cost if that is
/// more, before it, and no earlier than half way there from the start.  kNever: there is none.
TimePoint end_point(const Rhythm& rhythm, const DueFacts& facts);

/// Is one due?  Of several reasons the first in the order of DueWhy; whichever it was, a wish is fulfilled.
DueWhy due(const Rhythm& rhythm, const DueFacts& facts);
/// When one is due if nobody asks; not before `now`; kNever: never.
TimePoint next_due(const Rhythm& rhythm, const DueFacts& facts);

}  // namespace sickbay::ckpt
