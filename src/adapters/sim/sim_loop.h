// SPDX-License-Identifier: Apache-2.0
// SimLoop: ports/loop.h in virtual time.
//
// Time stands still while tasks run and jumps to the next timer when none is left, so that a day of a
// cluster takes as long as its events take.  Tasks run in the order they were posted, timers by time and,
// where times are equal, in the order they were set: a run is a pure function of what was put in.
// Single-threaded throughout: post() is not for other threads here, and no file descriptor ever gets ready.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>

#include "ports/loop.h"

namespace sickbay::sim {

class SimLoop final : public Loop {
 public:
  /// The clock shows `start` until the first timer.  Default: 2026-01-01T00:00:00Z.
  explicit SimLoop(TimePoint start = from_unix_seconds(1767225600)) : now_(start), start_(start) {}

  TimePoint now() const override { return now_; }
  void post(std::function<void()> task) override;
  TimerId at(TimePoint when, std::function<void()> task) override;
  void cancel(TimerId timer) override;
  void watch(int, std::function<void()>) override {}
  void unwatch(int) override {}
  /// Until stop(), or until neither a task nor a timer is left.  A component that sets its timer again and
  /// again keeps it running for ever: use run_until() or run_while() then.
  void run() override;
  void stop() override { stopped_ = true; }

  /// Everything due up to and including `end`; the clock shows `end` then (unless stopped before).
  void run_until(TimePoint end);
  /// Runs while `unfinished()` holds, asked before each task and timer.  False: nothing was left to do, the
  /// clock would have passed `limit`, or stop() was called, and it still holds.
  bool run_while(const std::function<bool()>& unfinished, TimePoint limit = kNever);
  /// The time since the start of the loop.
  Micros elapsed() const { return now_ - start_; }
  bool idle() const { return tasks_.empty() && timers_.empty(); }

 private:
  using Slot = std::pair<TimePoint, TimerId>;
  /// Runs one task or the next timer not after `limit`; false when there is none.
  bool step(TimePoint limit);

  TimePoint now_, start_;
  TimerId last_timer_ = 0;
  bool stopped_ = false;
  std::deque<std::function<void()>> tasks_;
  std::map<Slot, std::function<void()>> timers_;
  std::unordered_map<TimerId, TimePoint> when_;
};

}  // namespace sickbay::sim
