// SPDX-License-Identifier: Apache-2.0
// How often sickbayd may ask slurmctld, and the timer of the next look.
#pragma once
#include <functional>
#include <utility>

#include "ports/loop.h"

namespace sickbay {

/// All looks of one kind together may take one part in so many of slurmctld's time (decisions.md 20).
inline constexpr int kShareOfTime = 20;

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
