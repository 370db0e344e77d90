// SPDX-License-Identifier: Apache-2.0
// Returns: does a call that a thread is in come back?
//
// Something stands where the thread goes on after the call, and the kernel counts how often the thread comes
// there (perf_event_open(2)).  The thread is not stopped.  The first return ends the count, so that a program
// that returns a million times a second pays for few.  There are two means:
//
// - a breakpoint of the processor.  The program's code stays as it is.  A processor has few of them, and on
//   some virtual machines they never fire: it is tried on ourselves first, for one that never fires would
//   prove anything.
// - a probe of the kernel (uprobe).  The kernel puts an instruction that traps into that process's own copy
// of
//   the page, runs what stood there elsewhere, and takes it away when the count ends, however we end.  It
//   must stand where an instruction begins: only behind a call it is put.  Each count costs the end of it
//   some 40 ms of waiting (end_counts), so this is for a proof, and not for what is done every few seconds.
//
// Source: doc/design/identify.md, "Hangs", "Proof".
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace sickbay::ranks {

/// What may count: the processor alone; the kernel alone (for tests); the kernel where the processor cannot.
enum class CountedBy { processor, kernel, either };

class ReturnCounter {
 public:
  /// Counts from now on how often thread `tid` comes to `address`.  Errors: denied, not_found (it has ended),
  /// os; also where nothing that may count works on this machine, and where a probe cannot stand there.
  static Result<ReturnCounter> at(pid_t tid, std::uint64_t address, CountedBy by);
  ReturnCounter(ReturnCounter&& other) noexcept;
  ReturnCounter& operator=(ReturnCounter&& other) noexcept;
  ~ReturnCounter();

  /// How often it did, hardly more than once; nothing where the kernel does not say.
  std::optional<std::int64_t> count() const;
  /// Nothing stands there any more; count() stays what it was.
  void end();
  bool ended() const { return fd_ < 0; }

 private:
  explicit ReturnCounter(int fd) : fd_(fd) {}
  int fd_ = -1;
  std::optional<std::int64_t> last_;  // of one that has ended
};

/// end() of all of them, side by side: the kernel lets each wait until no processor is in its probe.
void end_counts(std::span<ReturnCounter* const> counters);

}  // namespace sickbay::ranks
