// SPDX-License-Identifier: Apache-2.0
// A disk that works against one that stands still.  Pure.  Source: doc/design/identify.md, "V on a busy
// machine".
#pragma once
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
/// Marks `found` where the disk stood still.  Behind much that others wrote (the failed job's own output, it
/// may be) a sync waits long on a good disk, too: that is told, and is no mark.
void judge_pace(Finding& found, const Pace& pace, const char* doing);

}  // namespace sickbay::verify
