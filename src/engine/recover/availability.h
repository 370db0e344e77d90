// SPDX-License-Identifier: Apache-2.0
// Availability = MTTF / (MTTF + MTTR), of a cell and of many together.
//
// To divide the time to recovery by k is worth as much as to multiply the time to failure by k, and it is
// the former that a restart tree does.  Plain arithmetic; doc/design/recover.md has the tables of the paper
// that it must give.
#pragma once
#include <optional>
#include <span>

#include "engine/recover/tree.h"

namespace sickbay::recover {

/// From 0 to 1; of what never fails 1, also where it would take for ever to recover.
double availability(Seconds mttf, Seconds mttr);

/// A part of a set: how often it failed in some time that is the same for all, and its time to recovery.
struct Member {
  double failures = 0;  ///< a count, or a rate: 1 / MTTF
  Seconds mttr{0};
};
/// sum(m_i * MTTR_i) / sum(m_i): the mean over failures, not over parts.  Nothing where none failed.
std::optional<Seconds> mttr_of(std::span<const Member> members);

/// Of a set that fails whenever one of its parts does: 1 / sum(1 / MTTF_i).  Nothing for no parts, and where
/// one fails all the time (MTTF 0).
std::optional<Seconds> series_mttf(std::span<const Seconds> mttf);

/// What the restart of dependent nodes takes, one after the other because nobody can tell which failed...
Seconds serial_time(std::span<const Seconds> takes);
/// ...and as one cell, all at one time.
Seconds parallel_time(std::span<const Seconds> takes);

}  // namespace sickbay::recover
