// SPDX-License-Identifier: Apache-2.0
// AsioLoop: ports/loop.h in real time, over boost::asio::io_context.
//
// now() is the wall clock, but never goes back: when the wall clock is set back, time goes on from where it
// was, at the pace of the steady clock, so that deadlines neither repeat nor freeze.  Timers due at once run
// in the order of their times, equal ones in the order they were made, as in the simulator.  Boost stays
// behind this header.  Source: doc/design/decisions.md 10.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "ports/loop.h"

namespace boost::asio {
class io_context;
}

namespace sickbay {

class AsioLoop : public Loop {
 public:
  AsioLoop();
  ~AsioLoop() override;

  TimePoint now() const override;
  void post(std::function<void()> task) override;
  /// A wall clock set forward is noticed within a minute: timers that became due by it run then.
  TimerId at(TimePoint when, std::function<void()> task) override;
  void cancel(TimerId timer) override;
  /// `fd` becomes non-blocking.  A descriptor that cannot be waited for (a regular file) is ready once, and
  /// then no longer watched.  Unwatch before closing it.
  void watch(int fd, std::function<void()> ready) override;
  void unwatch(int fd) override;
  void run() override;
  void stop() override;

  /// Calls `arrived` on the loop's thread for each of `signals` ({SIGTERM, SIGINT}) until the loop is gone.
  /// Errors: os (a number that is no signal).
  Status on_signals(const std::vector<int>& signals, std::function<void(int)> arrived);

  /// For the other files of this folder.
  boost::asio::io_context& context();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<AsioLoop> make_asio_loop();

}  // namespace sickbay
