// SPDX-License-Identifier: Apache-2.0
// ProcessLoop: the part of a SimLoop that one process uses, so that a test can kill the process.
//
// Timers of a dead sickbayd must not fire, whatever it had planned: they go with this.
#pragma once
#include <chrono>
#include <functional>
#include <string_view>

#include "adapters/sim/sim_loop.h"
#include "ports/lifetime.h"

namespace sickbay::sim {

/// A loop that one process uses: what it has left there is dropped when it dies.
class ProcessLoop final : public Loop {
 public:
  using Timed = std::function<void(std::string_view work, std::chrono::nanoseconds took)>;
  /// `timed` is told of the real time that each posted task took.
  explicit ProcessLoop(SimLoop& loop, Timed timed = nullptr) : loop_(loop), timed_(std::move(timed)) {}
  TimePoint now() const override { return loop_.now(); }
  void post(std::function<void()> task) override;
  TimerId at(TimePoint when, std::function<void()> task) override {
    return loop_.at(when, lifetime_.guard(std::move(task)));
  }
  void cancel(TimerId timer) override { loop_.cancel(timer); }
  void watch(int, std::function<void()>) override {}
  void unwatch(int) override {}
  void run() override { loop_.run(); }
  void stop() override { loop_.stop(); }

 private:
  SimLoop& loop_;
  Timed timed_;
  Lifetime lifetime_;
};

}  // namespace sickbay::sim
