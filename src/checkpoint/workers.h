// SPDX-License-Identifier: Apache-2.0
// A few threads that do a list of tasks.
//
// They may be a user's program's (libckpt): no exception ends it, not even that no memory is left, a thread
// that cannot be had is done without, and its signals go to its own threads.
#pragma once
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/result.h"

namespace sickbay::checkpoint {

inline constexpr int kMostThreads = 8;  ///< more do not make a disk faster

/// How many threads do `tasks` tasks where `wished` (0: as many as processors) are asked for.
inline std::size_t thread_count(int wished, std::size_t tasks) {
  const auto many =
      wished > 0 ? static_cast<unsigned>(wished) : std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(std::min<std::size_t>(many, kMostThreads), 1,
                                 std::max<std::size_t>(tasks, 1));
}

/// Keeps the first error of several threads.
class FirstError {
 public:
  bool any() const { return any_; }
  void keep(Error error) {
    const std::lock_guard hold(mutex_);
    if (!error_) error_ = std::move(error);
    any_ = true;
  }
  Status take() {
    if (!error_) return {};
    return tl::unexpected<Error>(std::move(*error_));
  }

 private:
  std::mutex mutex_;
  std::optional<Error> error_;
  std::atomic<bool> any_ = false;
};

/// What `work()` gives, and an exception of the standard library (no memory) as an error.
template <class Work>
Status guarded(Work work) {
  try {
    return work();
  } catch (const std::exception& e) {
    return fail(ErrorCode::os, e.what());
  }
}

/// While it lives this thread, and each that it starts, takes no signals but those of its own faults.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) ::sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

/// Calls `work(worker, task)` for 0 ... tasks - 1, each begun in this order, on `threads` threads; none is
/// begun after an error.  `make()` makes what one thread works with.  Of one thread it is the caller's.
template <class Make, class Work>
Status for_each_task(std::size_t tasks, std::size_t threads, Make make, Work work) {
  std::atomic<std::size_t> next = 0;
  FirstError error;
  const auto run = [&] {
    const Status all = guarded([&]() -> Status {
      auto worker = make();
      for (std::size_t task = next++; task < tasks && !error.any(); task = next++)
        if (Status done = work(worker, task); !done) error.keep(std::move(done.error()));
      return {};
    });
    if (!all) error.keep(all.error());
  };
  std::vector<std::jthread> others;
  {
    const NoSignals none;
    try {
      for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
    } catch (const std::system_error&) {  // no more of them
    }
  }
  run();
  others.clear();  // joins
  return error.take();
}

}  // namespace sickbay::checkpoint
