// SPDX-License-Identifier: Apache-2.0
// The loop of a process.  See asio_loop.h.
//
// All timers stand in one ordered map and share one Asio timer, which is armed for the first of them and left
// alone when that one is cancelled: a connection moves its time-out with every request, and each move of the
// Asio timer is a system call.
#include "adapters/net/asio_loop.h"

#include <utility>  // before Asio: Boost 1.74 leaves it out under GCC 12

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <string>

namespace sickbay {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// How long a set of the wall clock can stay unnoticed.
constexpr auto kLongestWait = std::chrono::minutes(1);

}  // namespace

struct AsioLoop::Impl {
  struct Watch {
    Watch(asio::io_context& context, int fd) : descriptor(context, fd) {}
    asio::posix::stream_descriptor descriptor;
    std::function<void()> ready;
    bool on = true;
  };

  asio::io_context context{1};  // 1: one thread runs it; post() stays safe from others
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  asio::steady_timer timer{context};
  TimePoint armed = kNever;  // what `timer` waits for
  std::map<std::pair<TimePoint, TimerId>, std::function<void()>> timers;
  std::map<TimerId, TimePoint> due;  // the key of each timer
  TimerId last_id = 0;
  std::map<int, std::shared_ptr<Watch>> watches;
  std::vector<std::unique_ptr<asio::signal_set>> signals;

  mutable TimePoint last_now = kNoTime;
  mutable std::chrono::steady_clock::time_point last_steady = std::chrono::steady_clock::now();

  TimePoint now() const {
    const auto steady = std::chrono::steady_clock::now();
    const auto wall = std::chrono::floor<Micros>(std::chrono::system_clock::now());
    // Never backwards: engines compare times, and a step of the wall clock must not turn their order
    // (decisions.md 10).
    const auto passed = last_now + std::chrono::floor<Micros>(steady - last_steady);
    if (wall <= passed) return passed;  // the base stays: its remainder below 1 us is not lost
    last_now = wall;
    last_steady = steady;
    return wall;
  }

  void arm() {
    if (timers.empty()) return;
    const TimePoint first = timers.begin()->first.first;
    if (first >= armed) return;
    armed = first;
    const TimePoint from = now();
    const auto wait = first <= from ? Micros(0) : std::min<Micros>(first - from, kLongestWait);
    timer.expires_after(wait);
    timer.async_wait([this](error_code ec) {
      if (!ec) fire();  // an aborted wait was replaced by another one
    });
  }

  void fire() {
    armed = kNever;
    const TimePoint until = now();
    const TimerId newest = last_id;  // those that the tasks make wait for the next round: nobody is starved
    auto next = timers.begin();
    while (next != timers.end() && next->first.first <= until) {
      const auto key = next->first;
      if (key.second > newest) {
        ++next;
        continue;
      }
      const auto task = std::move(next->second);
      timers.erase(next);
      due.erase(key.second);
      task();
      next = timers.upper_bound(key);
    }
    arm();
  }

  void wait(const std::shared_ptr<Watch>& watch) {
    watch->descriptor.async_wait(asio::posix::stream_descriptor::wait_read, [this, watch](error_code ec) {
      if (!watch->on || ec == asio::error::operation_aborted) return;
      const auto ready = watch->ready;  // the call may unwatch, or watch anew
      ready();
      // Waits once more only after the call: a descriptor that is not read yet would else be told of without
      // end.
      if (watch->on && !ec) wait(watch);
    });
  }
};

AsioLoop::AsioLoop() : impl_(std::make_unique<Impl>()) {}

AsioLoop::~AsioLoop() {
  while (!impl_->watches.empty()) unwatch(impl_->watches.begin()->first);
}

TimePoint AsioLoop::now() const { return impl_->now(); }

void AsioLoop::post(std::function<void()> task) { asio::post(impl_->context, std::move(task)); }

Loop::TimerId AsioLoop::at(TimePoint when, std::function<void()> task) {
  const TimerId id = ++impl_->last_id;
  impl_->timers.emplace(std::pair(when, id), std::move(task));
  impl_->due.emplace(id, when);
  impl_->arm();
  return id;
}

void AsioLoop::cancel(TimerId timer) {
  const auto it = impl_->due.find(timer);
  if (it == impl_->due.end()) return;
  impl_->timers.erase(std::pair(it->second, timer));
  impl_->due.erase(it);
}

void AsioLoop::watch(int fd, std::function<void()> ready) {
  unwatch(fd);
  auto watch = std::make_shared<Impl::Watch>(impl_->context, fd);
  watch->ready = std::move(ready);
  impl_->watches[fd] = watch;
  impl_->wait(watch);
}

void AsioLoop::unwatch(int fd) {
  const auto it = impl_->watches.find(fd);
  if (it == impl_->watches.end()) return;
  it->second->on = false;
  it->second->descriptor.release();  // the descriptor is the caller's: not closed
  impl_->watches.erase(it);
}

void AsioLoop::run() {
  // (After a stop() it would return at once.)
  impl_->context.restart();
  impl_->context.run();
}

void AsioLoop::stop() { impl_->context.stop(); }

Status AsioLoop::on_signals(const std::vector<int>& signals, std::function<void(int)> arrived) {
  auto set = std::make_unique<asio::signal_set>(impl_->context);
  for (const int signal : signals) {
    error_code ec;
    set->add(signal, ec);
    if (ec)
      return fail(
          Error(ErrorCode::os, "cannot wait for signal " + std::to_string(signal)).because(ec.message()));
  }
  // The callback holds itself by the set, which the loop owns.
  struct Wait {
    asio::signal_set* set;
    std::shared_ptr<std::function<void(int)>> arrived;
    void operator()(error_code ec, int signal) {
      if (ec) return;
      (*arrived)(signal);
      set->async_wait(*this);
    }
  };
  set->async_wait(Wait{set.get(), std::make_shared<std::function<void(int)>>(std::move(arrived))});
  impl_->signals.push_back(std::move(set));
  return {};
}

asio::io_context& AsioLoop::context() { return impl_->context; }

std::unique_ptr<AsioLoop> make_asio_loop() { return std::make_unique<AsioLoop>(); }

}  // namespace sickbay
