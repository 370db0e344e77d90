// SPDX-License-Identifier: Apache-2.0
// Pairing: up to which event the active may answer callers and act.
//
// While the standby follows, an event counts when the standby has it on its disk.  Where that takes too long
// the active goes on alone, but only when a majority of the witnesses know that it does (candidate.h), and
// until then it holds back what the standby has not.  When the standby is close behind, events count by it
// again; when it has all that counted before, the witnesses are told that both have it.
//
// Pure; times as in candidate.h.  Source: doc/design/standby.md, "What is acknowledged".
#pragma once
#include <cstdint>
#include <deque>
#include <utility>

#include "base/time.h"

namespace sickbay::succession {

class Pairing {
 public:
  /// `patience`: how long an event is held for the standby.
  explicit Pairing(Micros patience) : patience_(patience) {}

  /// All events up to `seq` are in our own journal.
  void committed(std::int64_t seq, Micros now);
  /// The standby has all up to `seq`, and has them durable.  A `seq` that we do not have is ignored.
  void standby_has(std::int64_t seq);
  /// A majority of the witnesses know that we are alone: is_alone() was true when they were told last.
  void alone_is_known();
  /// Time has passed, or one of the above was called.  True: is_alone() has changed, and the witnesses must
  /// be told before anything else is.
  bool tick(Micros now);
  /// Call tick() then.
  Micros wake_at() const;

  /// What the witnesses are to know: the standby may lack what is acknowledged.
  bool is_alone() const { return alone_; }
  /// Events up to here may be answered, and acted on.
  std::int64_t counts_up_to() const { return counts_; }
  std::int64_t standby_seq() const { return standby_; }

 private:
  void count();
  bool is_late(Micros now, Micros by) const {
    return !lacking_.empty() && now >= lacking_.front().second + by;
  }

  Micros patience_;
  bool alone_ = true;  ///< a term begins alone: who was active before may be gone
  bool alone_known_ = false;
  bool waits_ = false;         ///< alone, but events count by the standby again
  bool standby_seen_ = false;  ///< in this term
  std::int64_t committed_ = 0, standby_ = 0, counts_ = 0;
  std::deque<std::pair<std::int64_t, Micros>> lacking_;  ///< commits that the standby lacks
};

}  // namespace sickbay::succession
