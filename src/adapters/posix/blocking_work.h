// SPDX-License-Identifier: Apache-2.0
// BlockingWork: calls that may block for ever, on threads that nobody waits for.
//
// What such a call gives comes back on the loop; where its owner, or the loop, is gone by then, it is
// dropped. A call cannot be stopped, so its thread is left alone at the end.  How many run at once is for who
// starts them.
#pragma once
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

  /// `loop` must outlive it.
  BlockingWork(Loop& loop, Start start);
  ~BlockingWork();

  /// Calls `work` on another thread, and then `then` with what it gave, on the loop's.  Copies of both may be
  /// dropped on either.
  template <class T>
  void run(std::function<T()> work, std::function<void(T)> then) {
    start_([way = way_, here = lifetime_.watch(), work = std::move(work), then = std::move(then)] {
      const auto given = std::make_shared<T>(work());
      way->post([here, then, given] {
        if (!here.over()) then(std::move(*given));
      });
    });
  }

 private:
  /// To the loop, for a thread that may end after it.
  struct Way {
    std::mutex mutex;
    Loop* loop = nullptr;  ///< null: nobody is there any more
    void post(std::function<void()> task);
  };
  const Start start_;
  const std::shared_ptr<Way> way_;
  Lifetime lifetime_;
};

}  // namespace sickbay
