// SPDX-License-Identifier: Apache-2.0
// What the tests of what waits share: a loop whose time goes by where a test says so.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "ports/loop.h"

namespace sickbay {

// A loop in a time of its own.
struct HandLoop : Loop {
  TimePoint now() const override { return time; }
  void post(std::function<void()> task) override { tasks.push_back(std::move(task)); }
  TimerId at(TimePoint when, std::function<void()> task) override {
    timers.emplace(when, std::move(task));
    return 0;
  }
  void cancel(TimerId) override {}
  void watch(int, std::function<void()>) override {}
  void unwatch(int) override {}
  void run() override {
    for (; !tasks.empty(); tasks.pop_front()) tasks.front()();
  }
  void stop() override {}
  void pass(Micros by) {
    time += by;
    while (!timers.empty() && timers.begin()->first <= time) {
      const auto task = std::move(timers.begin()->second);
      timers.erase(timers.begin());
      task();
    }
    run();
  }
  TimePoint time = from_unix_seconds(1'800'000'000);
  std::deque<std::function<void()>> tasks;
  std::multimap<TimePoint, std::function<void()>> timers;
};

}  // namespace sickbay
