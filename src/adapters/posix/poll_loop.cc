// SPDX-License-Identifier: Apache-2.0
// The loop on poll(2).  See poll_loop.h.
//
// One round: posted tasks, timers that are due, then wait for the descriptors.  Every callback runs from a
// copy, so that it may cancel, unwatch or watch anew, itself included.  An eventfd wakes the wait when
// another thread posts; within a round, what was posted or timed meanwhile waits for the next one.
#include "adapters/posix/poll_loop.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sickbay {
namespace {

// How long a set of the wall clock can stay unnoticed by a timer.
constexpr std::chrono::milliseconds kLongestWait{60'000};

class PollLoop : public Loop {
 public:
  explicit PollLoop(int wake) : wake_(wake) {}
  ~PollLoop() override { ::close(wake_); }

  TimePoint now() const override {
    const auto steady = std::chrono::steady_clock::now();
    const auto wall = std::chrono::floor<Micros>(std::chrono::system_clock::now());
    const auto passed = last_now_ + std::chrono::floor<Micros>(steady - last_steady_);
    if (wall <= passed) return passed;  // the clock was set back: go on at the pace of the steady one
    last_now_ = wall;
    last_steady_ = steady;
    return wall;
  }

  void post(std::function<void()> task) override {
    {
      const std::lock_guard lock(mutex_);
      posted_.push_back(std::move(task));
    }
    wake();
  }

  TimerId at(TimePoint when, std::function<void()> task) override {
    const TimerId id = ++last_id_;
    timers_.emplace(std::pair(when, id), std::move(task));
    due_.emplace(id, when);
    return id;
  }
  void cancel(TimerId timer) override {
    const auto it = due_.find(timer);
    if (it == due_.end()) return;
    timers_.erase(std::pair(it->second, timer));
    due_.erase(it);
  }

  void watch(int fd, std::function<void()> ready) override {
    watches_[fd] = std::make_shared<std::function<void()>>(std::move(ready));
  }
  void unwatch(int fd) override { watches_.erase(fd); }

  void run() override {
    while (!stopped_) {
      run_posted();
      run_timers();
      if (!stopped_) wait();
    }
    stopped_ = false;  // so that run() can be called again
  }
  void stop() override {
    stopped_ = true;
    wake();
  }

 private:
  void wake() {
    const std::uint64_t one = 1;
    // A full counter means that the wake is under way already.
    (void)!::write(wake_, &one, sizeof one);
  }

  void run_posted() {
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(posted_);
    }
    // Stopped in the midst of it: the rest is put back in front, for run() may be called again.
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (stopped_) {
        const std::lock_guard lock(mutex_);
        posted_.insert(posted_.begin(),
                       std::make_move_iterator(tasks.begin() + static_cast<std::ptrdiff_t>(i)),
                       std::make_move_iterator(tasks.end()));
        return;
      }
      tasks[i]();
    }
  }

  void run_timers() {
    const TimePoint until = now();
    // What is set from now on waits for the next round: a timer that sets itself for "now" would keep all
    // others from their turn.
    const TimerId newest = last_id_;
    auto next = timers_.begin();
    while (!stopped_ && next != timers_.end() && next->first.first <= until) {
      const auto key = next->first;
      if (key.second > newest) {
        ++next;
        continue;
      }
      const auto task = std::move(next->second);
      timers_.erase(next);
      due_.erase(key.second);
      task();
      // Looked for anew: the task may have cancelled the one that was next.
      next = timers_.upper_bound(key);
    }
  }

  int wait_ms() {
    {
      const std::lock_guard lock(mutex_);
      if (!posted_.empty()) return 0;
    }
    auto longest = kLongestWait;
    if (!timers_.empty()) {
      // Rounded up: a wait that ends before its timer would spin.
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - now());
      longest = std::clamp(left, std::chrono::milliseconds(0), kLongestWait);
    }
    return static_cast<int>(longest.count());
  }

  void wait() {
    std::vector<pollfd> fds{{wake_, POLLIN, 0}};
    // Weak: an unwatched one must not be called, though poll() has seen it.
    std::vector<std::weak_ptr<std::function<void()>>> watches{{}};
    for (const auto& [fd, ready] : watches_) {
      fds.push_back({fd, POLLIN, 0});
      watches.push_back(ready);
    }
    if (::poll(fds.data(), fds.size(), wait_ms()) <= 0) return;
    if (fds[0].revents != 0) {
      std::uint64_t count;
      (void)!::read(wake_, &count, sizeof count);
    }
    for (std::size_t i = 1; i < fds.size() && !stopped_; ++i) {
      if (fds[i].revents == 0) continue;
      // Gone when an earlier callback of this round has unwatched it, also when the number is watched anew.
      if (const auto ready = watches[i].lock()) (*ready)();
    }
  }

  int wake_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // the only part that other threads touch
  std::map<std::pair<TimePoint, TimerId>, std::function<void()>> timers_;
  std::map<TimerId, TimePoint> due_;
  TimerId last_id_ = 0;
  std::map<int, std::shared_ptr<std::function<void()>>> watches_;
  mutable TimePoint last_now_ = kNoTime;
  mutable std::chrono::steady_clock::time_point last_steady_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<std::unique_ptr<Loop>> make_poll_loop() {
  const int wake = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (wake < 0) return fail(ErrorCode::os, fmt::format("cannot make an eventfd: {}", std::strerror(errno)));
  return std::make_unique<PollLoop>(wake);
}

}  // namespace sickbay
