// SPDX-License-Identifier: Apache-2.0
// Returns: does a call that a thread is in come back?  The processor itself counts.
//
// A breakpoint of the processor stands where the thread goes on after the call, and the kernel counts how
// often the thread comes there (perf_event_open(2)).  The thread is not stopped, and its code stays as it is.
// The first return ends the count, so that a program that returns a million times a second pays for one.
// Whether such breakpoints work is tried first, on ourselves: one that never fires would prove anything.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace sickbay::ranks {

class ReturnCounter {
 public:
  /// Counts from now on how often thread `tid` comes to `address`.  Errors: denied, not_found (it has ended),
  /// os; also where breakpoints do not work on this machine.
  static Result<ReturnCounter> at(pid_t tid, std::uint64_t address);
  ReturnCounter(ReturnCounter&& other) noexcept;
  ReturnCounter& operator=(ReturnCounter&& other) noexcept;
  ~ReturnCounter();

  /// How often it did, hardly more than once; nothing where the kernel does not say.
  std::optional<std::int64_t> count() const;

 private:
  explicit ReturnCounter(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace sickbay::ranks
