// SPDX-License-Identifier: GPL-2.0-or-later
// What the fields of libslurm's records mean where they are empty.
#pragma once
#include <slurm/slurm.h>

#include <cstdint>
#include <ctime>
#include <string>

#include "base/time.h"

namespace sickbay::slurm {

/// A text of Slurm's; where there is none, "".
inline std::string text(const char* s) { return s ? s : ""; }

/// A time of Slurm's; kNoTime where there is none.  (NO_VAL and INFINITE come as times, too.)
inline TimePoint time_or_none(time_t t) {
  return t <= 0 || t >= static_cast<time_t>(NO_VAL) ? kNoTime : from_unix_seconds(t);
}

/// A number of Slurm's; 0 for its "not set" and "no limit", which are numbers, too.
inline std::uint32_t number_or_none(std::uint32_t n) { return n == NO_VAL || n == INFINITE ? 0 : n; }
inline std::uint16_t number_or_none(std::uint16_t n) { return n == NO_VAL16 || n == INFINITE16 ? 0 : n; }

}  // namespace sickbay::slurm
