// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as an answer to wait for, so that a command that goes on and on ends between two rounds.
#pragma once
#include <chrono>
#include <memory>

namespace sickbay::cli {

/// Takes SIGINT and SIGTERM away from the process for as long as it lives; make it before any thread.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  /// False: a signal came, now or before.
  bool wait(std::chrono::microseconds time) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sickbay::cli
