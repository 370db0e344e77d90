// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/call_lane.h"

#include <algorithm>

namespace sickbay::slurm {

// A window that moves on: at most `most_` starts within any second.
TimePoint UpdateRate::next(TimePoint now) {
  constexpr auto kWindow = std::chrono::seconds(1);
  while (!starts_.empty() && starts_.front() + kWindow <= now) starts_.pop_front();
  // A clock that was set back would block for as long as it went back.
  while (!starts_.empty() && starts_.back() > now) starts_.pop_back();
  return starts_.size() < most_ ? now : starts_.front() + kWindow;
}

CallLane::~CallLane() {
  if (timer_set_) loop_.cancel(timer_);
}

bool CallLane::submit(Work work) {
  if (queue_.size() >= bound_) return false;
  queue_.push_back({std::move(work), loop_.now()});
  pump();
  return true;
}

void CallLane::finished() {
  --under_way_;
  pump();
}

void CallLane::pump() {
  if (pumping_) return;  // start() may finish at once and come back here
  pumping_ = true;
  for (;;) {
    const TimePoint now = loop_.now();
    // Only in front: all wait in the order in which they came.
    while (!queue_.empty() && now - queue_.front().since > kLongestWait) {
      auto refuse = std::move(queue_.front().work.refuse);
      queue_.pop_front();
      refuse(Error(ErrorCode::slurm_away, "Slurm is too slow: the call waited for over a minute"));
    }
    if (under_way_ >= width_) break;
    const TimePoint update_at = rate_.next(now);
    // A look may go past updates that must wait for the rate: it costs slurmctld little, and engines wait for
    // it.
    const auto ready = std::find_if(queue_.begin(), queue_.end(),
                                    [&](const Waiting& w) { return !w.work.update || update_at <= now; });
    if (ready == queue_.end()) {
      if (!queue_.empty() && !timer_set_) {
        timer_set_ = true;
        timer_ = loop_.at(update_at, [this] {
          timer_set_ = false;
          pump();
        });
      }
      break;
    }
    Work work = std::move(ready->work);
    queue_.erase(ready);
    if (work.update) rate_.took(now);
    ++under_way_;
    work.start();
  }
  pumping_ = false;
}

}  // namespace sickbay::slurm
