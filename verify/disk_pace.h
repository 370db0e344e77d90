// SPDX-License-Identifier: Apache-2.0
// A disk that works against one that stands still.  Pure.  Source: doc/design/identify.md, "V on a busy
// machine".
#pragma once
#include <cstdint>

#include "report.h"

namespace sickbay::verify {

/// Something that was done to a disk.
struct Pace {
  double mb = 0, seconds = 0;
  double unwritten_mb = 0;  ///< what waited in the node's memory to be written meanwhile, V's own not counted
};

/// Whether the disk stood still rather than worked: below half a megabyte a second, for half a minute.  A
/// busy disk makes a sync wait for seconds; that is none.
bool stood_still(double mb, double seconds);
/// Up to which of `all` blocks is written before the next sync, where `synced` took `seconds`.  A disk that
/// works gets all behind a little.  Of one that took a second for that little it is what a quarter of a
/// minute gives at its pace, and at most as much again: who waits for V does not wait for all of it, and a
/// sync that waits for something else does so a few times only.
std::uint64_t next_sync(std::uint64_t synced, std::uint64_t all, double seconds);
/// Marks `found` where the disk stood still.  Behind much that others wrote (the failed job's own output, it
/// may be) a sync waits long on a good disk, too: that is told, and is no mark.
void judge_pace(Finding& found, const Pace& pace, const char* doing);

}  // namespace sickbay::verify
