// SPDX-License-Identifier: Apache-2.0
// Loop: the clock and the event loop of a process.  Everything runs on its one thread.
//
// adapters/net gives the real one (Boost.Asio), adapters/sim one in virtual time.  Whoever needs `now`, a
// timer or a file descriptor asks here, so that the same code runs in both.
#pragma once
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/time.h"

namespace sickbay {

/// Receives the answer of an operation, once, on the loop's thread, never from inside the call that started
/// it.
template <class T>
using Done = std::function<void(Result<T>)>;

class Loop {
 public:
  using TimerId = std::uint64_t;
  virtual ~Loop() = default;

  virtual TimePoint now() const = 0;
  /// Runs `task` after the current callback has returned.  The one call that other threads may make.
  virtual void post(std::function<void()> task) = 0;
  /// Runs `task` at `when` or soon after; at once (but posted) when that has passed.
  virtual TimerId at(TimePoint when, std::function<void()> task) = 0;
  /// Cancels a timer; unknown or past ids are ignored.
  virtual void cancel(TimerId timer) = 0;
  /// Calls `ready` each time `fd` is readable (or at its end) until unwatch(fd).  `fd` stays the caller's.
  virtual void watch(int fd, std::function<void()> ready) = 0;
  virtual void unwatch(int fd) = 0;
  /// Runs until stop().  (The simulator: until nothing is left to do.)
  virtual void run() = 0;
  virtual void stop() = 0;
};

}  // namespace sickbay
