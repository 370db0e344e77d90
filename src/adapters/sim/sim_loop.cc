// SPDX-License-Identifier: Apache-2.0
#include "adapters/sim/sim_loop.h"

namespace sickbay::sim {

void SimLoop::post(std::function<void()> task) { tasks_.push_back(std::move(task)); }

Loop::TimerId SimLoop::at(TimePoint when, std::function<void()> task) {
  const TimerId timer = ++last_timer_;
  // Time never runs back; such a timer comes behind those that are due now.
  if (when < now_) when = now_;
  timers_.emplace(Slot{when, timer}, std::move(task));
  when_.emplace(timer, when);
  return timer;
}

void SimLoop::cancel(TimerId timer) {
  const auto found = when_.find(timer);
  if (found == when_.end()) return;
  timers_.erase(Slot{found->second, timer});
  when_.erase(found);
}

bool SimLoop::step(TimePoint limit) {
  if (!tasks_.empty()) {
    // Taken out first: the task may post others.
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    task();
    return true;
  }
  if (timers_.empty() || timers_.begin()->first.first > limit) return false;
  // Taken out first: it may set or cancel timers.
  auto node = timers_.extract(timers_.begin());
  when_.erase(node.key().second);
  now_ = node.key().first;
  node.mapped()();
  return true;
}

void SimLoop::run() {
  stopped_ = false;
  while (!stopped_ && step(kNever)) {
  }
}

void SimLoop::run_until(TimePoint end) {
  stopped_ = false;
  while (!stopped_ && step(end)) {
  }
  if (!stopped_ && now_ < end) now_ = end;
}

bool SimLoop::run_while(const std::function<bool()>& unfinished, TimePoint limit) {
  stopped_ = false;
  while (unfinished()) {
    if (stopped_ || !step(limit)) return false;
  }
  return true;
}

}  // namespace sickbay::sim
