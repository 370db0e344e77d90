// SPDX-License-Identifier: Apache-2.0
#include "beat.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "report.h"

namespace sickbay::verify {
namespace {

std::atomic<std::uint64_t> ticked{0};

}  // namespace

void tick() { ticked.fetch_add(1, std::memory_order_relaxed); }
std::uint64_t ticks() { return ticked.load(std::memory_order_relaxed); }

Beat::Beat(std::string node, int rank, double every) {
  if (every <= 0) return;
  thread_ = std::thread([this, node = std::move(node), rank, pause = std::chrono::duration<double>(every)] {
    std::unique_lock lock(mutex_);
    do say_alive(node, rank, ticks());
    while (!ended_.wait_for(lock, pause, [this] { return over_; }));
  });
}

Beat::~Beat() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace sickbay::verify
