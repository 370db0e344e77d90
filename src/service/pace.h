// SPDX-License-Identifier: Apache-2.0
// How often sickbayd may ask slurmctld, and the timer of the next look.
#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <utility>

#include "ports/loop.h"

namespace sickbay {

/// All looks of one kind together may take one part in so many of slurmctld's time (decisions.md 20).
inline constexpr int kShareOfTime = 20;

/// What a look costs slurmctld, from how long the last ones took.  One that had to wait (behind an
/// allocation, a machine that was busy for a moment) took long and cost nothing more: the least of the last
/// three counts. A slurmctld that is slow is slow three times.  (By the last one alone a look of 250 ms put
/// the next one off by 5 s, and with it the news of a failed node: measured.)
class UsualCost {
 public:
  void add(Micros cost) { last_[next_++ % last_.size()] = cost; }
  /// 0 where nothing was added.
  Micros get() const {
    return next_ == 0 ? Micros(0) : *std::min_element(last_.begin(), last_.begin() + filled());
  }

 private:
  std::ptrdiff_t filled() const { return static_cast<std::ptrdiff_t>(std::min(next_, last_.size())); }
  std::array<Micros, 3> last_{};
  std::size_t next_ = 0;
};

/// That share as an account: looks that somebody waits for may come at once, as many as were saved up, and
/// then at the pace of the share.  So one question is answered in the time of one look, and a flood of them
/// costs slurmctld no more than before.
class ShareOfTime {
 public:
  /// What can be saved up: the share of ten seconds.  (That of one was used up by twenty questions in a row.)
  static constexpr Micros kSaved = Micros(std::chrono::seconds(10)) / kShareOfTime;

  /// A look that ended at `now` has cost so much.
  void spend(Micros cost, TimePoint now) {
    owed_ = owed_at(now) + cost;
    at_ = now;
  }
  /// When the next one may begin; in the past where it may now.
  TimePoint ready() const { return owed_ <= kSaved ? at_ : at_ + kShareOfTime * (owed_ - kSaved); }

 private:
  Micros owed_at(TimePoint now) const {
    if (at_ == kNoTime) return Micros(0);
    // A clock that steps back pays nothing off.
    return std::max(Micros(0), owed_ - std::max(Micros(0), Micros(now - at_)) / kShareOfTime);
  }
  Micros owed_{0};
  TimePoint at_ = kNoTime;
};

/// Runs a task once, at the earliest of the times that it was asked for since it ran last.
class EarliestTimer {
 public:
  EarliestTimer(Loop& loop, std::function<void()> task) : loop_(loop), task_(std::move(task)) {}

  /// A later time than the one that stands changes nothing: a task that is put off by each call would never
  /// run.
  void at(TimePoint when) {
    if (planned_) {
      if (when >= due_) return;
      loop_.cancel(timer_);
    }
    planned_ = true;
    due_ = when;
    timer_ = loop_.at(when, [this] {
      planned_ = false;
      task_();
    });
  }

 private:
  Loop& loop_;
  const std::function<void()> task_;
  bool planned_ = false;
  Loop::TimerId timer_ = 0;
  TimePoint due_ = kNever;
};

}  // namespace sickbay
