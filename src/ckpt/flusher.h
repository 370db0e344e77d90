// SPDX-License-Identifier: Apache-2.0
// The process that flushes (flush.h) beside a process of the program: `sickbay-ckpt flush`, less urgent than
// the program.  It is a process of its own, so that a program that dies does not take it along at once, and
// nothing in a user's program goes on by itself.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "ckpt/place.h"
#include "ckpt/series.h"
#include "ckpt/tell.h"

namespace sickbay::ckpt {

/// Less urgent than the program: of its processors it takes what is left over.
inline constexpr int kFlushNiceness = 10;

/// What to flush, as the process is told.
struct FlushOrder {
  std::int64_t number = 0;  ///< FlushWish::number
  std::int64_t keep = 0;    ///< checkpoints on shared storage; 0: all
  bool again = false;       ///< FlushWish::again
  Micros patience = std::chrono::minutes(30);
};

/// Where `sickbay-ckpt` is: SICKBAY_CKPT_PROGRAM, else as program_near has it.
std::string flush_program(const Variable& variable);
/// Starts it for this process, of the series `name` in `place`.  It tells by itself what went wrong.
/// Errors: missing_program; os; of Telling::to_its_end: storage_broken: it failed.
Status start_flush(const std::string& program, const JobPlace& place, const std::string& name,
                   const FlushOrder& order, Telling how);

/// What a process lacks in its fast place it gets from keepers (keepers.h), where some were started: by
/// `sickbay-ckpt fetch`, which is waited for.
void use_keepers(Series& series, const std::string& program, const JobPlace& place, const std::string& name);

}  // namespace sickbay::ckpt
