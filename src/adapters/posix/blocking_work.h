// SPDX-License-Identifier: Apache-2.0
// BlockingWork: calls that may block for ever, on threads that nobody waits for.
//
// What such a call gives comes back on the loop; where its owner, or the loop, is gone by then, it is
// dropped. A call cannot be stopped, so its thread is left alone at the end.  A bounded number runs at once,
// and the others wait for their turn, in the order in which they came: calls that hang use up no more threads
// than that.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay {

class BlockingWork {
 public:
  /// Runs work on a thread that nobody waits for.
  using Start = std::function<void(std::function<void()> work)>;
  static void on_a_thread(std::function<void()> work);

  /// Names what was asked for.
  using Ticket = std::uint64_t;

  /// `loop` must outlive it.  `at_once`: threads.
  BlockingWork(Loop& loop, Start start, std::size_t at_once);
  ~BlockingWork();

  /// Calls `work` on another thread, and then `then` with what it gave, on the loop's.  Copies of both may be
  /// dropped on either.
  template <class T>
  Ticket run(std::function<T()> work, std::function<void(T)> then) {
    queue_.emplace_back(++last_, [this, work = std::move(work), then = std::move(then)] {
      start_([this, way = way_, here = lifetime_.watch(), work, then] {
        const auto given = std::make_shared<T>(work());
        way->post([this, here, then, given] {
          if (here.over()) return;
          --under_way_;
          then(std::move(*given));
          // (What was told may have ended us.)
          if (!here.over()) begin_next();
        });
      });
    });
    begin_next();
    return last_;
  }
  /// True where it had not begun: now it will not.
  bool take_back(Ticket ticket);

 private:
  void begin_next();

  /// To the loop, for a thread that may end after it.
  struct Way {
    std::mutex mutex;
    Loop* loop = nullptr;  ///< null: nobody is there any more
    void post(std::function<void()> task);
  };
  const Start start_;
  const std::size_t at_once_;
  const std::shared_ptr<Way> way_;
  std::deque<std::pair<Ticket, std::function<void()>>> queue_;  ///< what begins it
  Ticket last_ = 0;
  std::size_t under_way_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay
