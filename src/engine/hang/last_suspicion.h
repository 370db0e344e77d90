// SPDX-License-Identifier: Apache-2.0
// LastSuspicion: what a job looked like to the last.
//
// A job that its limit ends before a hang was proven had perhaps looked like one for hours, and that is worth
// a sentence.  At its end the ranks go one after another, and a judgement on those that are left says
// anything: that somebody goes on, or that one is missed.  So a judgement on fewer ranks than before counts
// nothing for kEnding, in which a job that is ended is over (KillWait is 30 s).  Of all ranks together one
// look may still be a glimpse of something that dies: only what goes on for kGoesOn has gone on.
//
// Pure.  Source: doc/design/identify.md, "Hangs".
#pragma once
#include <optional>

#include "engine/hang/judge.h"

namespace sickbay::hang {

inline constexpr std::chrono::seconds kSuspicious{30};  ///< shorter waits are of no interest at the end
inline constexpr std::chrono::seconds kGoesOn{5};
inline constexpr std::chrono::minutes kEnding{2};

class LastSuspicion {
 public:
  void take(const Judgement& judgement, TimePoint now);
  /// The suspicion under which the job stands; nothing where it goes on, or always did.
  const std::optional<Judgement>& standing() const { return last_; }

 private:
  std::optional<Judgement> last_;
  std::size_t ranks_ = 0;  ///< of the last judgement that counted
  TimePoint counted_ = kNoTime;
  std::optional<TimePoint> goes_on_;  ///< since when
};

}  // namespace sickbay::hang
