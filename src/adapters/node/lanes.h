// SPDX-License-Identifier: Apache-2.0
// Lanes: work that may wait, on threads of its own, with a time limit.
//
// A thread in a system call on a dead file server cannot be ended.  So each piece of work has a key (what it
// touches), and as long as one hangs, no other of the same key is started: a dead server holds one thread,
// however often it is asked for.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "ports/loop.h"
#include "ports/operation_runner.h"

namespace sickbay::node {

class Lanes {
 public:
  explicit Lanes(Loop& loop);
  /// Threads that still run are told to stop and left to themselves; their `done` is never called.
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  /// Work gets a flag that is set when nobody waits for it any more.  It touches nothing of ours.
  using Work = std::function<OperationEnd(const std::atomic<bool>& cancelled)>;
  /// `done` comes once, on the loop's thread: the end of `work`, or unknown where it takes longer than
  /// `limit`, where work of the same key still hangs, where kMostThreads are under way, or when `early_end`
  /// (may be null) is asked.
  void start(const std::string& key, std::chrono::milliseconds limit, Work work,
             std::function<void(OperationEnd)> done, const std::shared_ptr<EarlyEnd>& early_end = nullptr);
  static constexpr int kMostThreads = 32;
  /// Threads that have not come back.
  std::size_t under_way() const { return lanes_.size(); }

 private:
  struct Shared;
  struct Lane;
  void give_up(const std::string& key, std::string why);
  void finished(const std::string& key, OperationEnd end);
  Loop& loop_;
  std::shared_ptr<Shared> shared_;
  std::map<std::string, std::unique_ptr<Lane>> lanes_;
};

}  // namespace sickbay::node
