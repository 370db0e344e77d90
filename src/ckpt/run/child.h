// SPDX-License-Identifier: Apache-2.0
// A program under the one that watches it: it gets the signals that were for it, and its end is seen at once,
// whatever its watcher is busy with.
//
// Signals are blocked in this process and taken by one thread, which passes them on: so a save that takes
// minutes keeps no SIGTERM from the program.  Those of the terminal reach the program by themselves.
// REQUIRES: made before other threads are; one of them at a time.
#pragma once
#include <signal.h>
#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sickbay::ckpt {

class Child {
 public:
  /// Runs `words` (the first is looked for in PATH) with this environment and `more` ("NAME=value").
  /// `wish`: the signal that is not passed on but counted.
  /// Errors: not_found, denied, internal: it cannot be run.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& words,
                                              const std::vector<std::string>& more, int wish);
  /// REQUIRES: it has ended.  (What ends this process from then on ends it with the program's code.)
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool ended();
  /// As a shell tells it: 128 and the signal, where one ended it.  REQUIRES: ended.
  int code();
  std::int64_t wishes();
  /// Waits so long, or until `ended` or `wishes` changes.
  void pause(Micros length);
  /// Until it has ended.
  void wait();

  /// Would it outlive this signal?  Not before it has set its handler.
  bool is_ready_for(int signal);
  /// Nothing where it has ended.
  void send(int signal);

 private:
  Child(::pid_t pid, int wish, const ::sigset_t& before);
  void take_signals();
  int code_of_status() const;

  const ::pid_t pid_;
  const int wish_;
  const ::sigset_t before_;  ///< the mask of signals, which is put back
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false, leaving_ = false;
  int status_ = 0;
  std::int64_t wishes_ = 0;
  std::thread signals_;
};

/// Signals that a program can be asked by: "USR1", also "SIGUSR1".  Errors: usage.
Result<int> parse_ask_signal(const std::string& name);
/// "SIGUSR1".
std::string signal_name(int signal);

}  // namespace sickbay::ckpt
