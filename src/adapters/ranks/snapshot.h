// SPDX-License-Identifier: Apache-2.0
// Snapshot: the registers of a thread and a copy of its stack, taken in a stop as short as can be.
//
// The thread is stopped by ptrace (PTRACE_SEIZE and PTRACE_INTERRUPT: no signal is sent, and one that was
// stopped stays so), its registers are read, its stack is copied in one call, and it goes on.  What the
// frames are is found afterwards, on the copy, so that however long that takes the program does not wait for
// it. Source: ptrace(2).
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "adapters/ranks/kernel_call.h"
#include "adapters/ranks/mapped.h"
#include "base/time.h"

namespace sickbay::ranks {

/// Registers by their DWARF numbers, as far as a machine has them, and the stack above its pointer.
struct Snapshot {
  static constexpr std::size_t kMostRegisters = 33;
  std::array<std::uint64_t, kMostRegisters> registers{};
  std::size_t register_count = 0;
  std::uint64_t pc = 0, sp = 0;
  std::vector<std::uint8_t> stack;  ///< from `sp` up
  bool complete = false;            ///< up to the stack's end
  std::uint64_t data = 0;           ///< digest of the program's own variables, without those of libraries
  pid_t tid = 0;
  /// The call of the kernel in which the stop found it, and to which it goes back by itself.  Nothing: it was
  /// in none, the call had ended, or this machine's registers do not tell.
  std::optional<KernelCall> interrupted;
  Micros stopped{0};  ///< for how long the thread was kept
  std::string why;    ///< why there is none; "" where there is
};

/// Stops thread `tid`, copies at most `most` bytes of its stack, and lets it go on.  It waits no longer than
/// `patience` for the stop: a thread in the kernel's uninterruptible sleep does not stop, and is let go as
/// soon as it would.
Snapshot take_snapshot(pid_t tid, std::size_t most, std::chrono::milliseconds patience);
/// The same.  `stack`: where its stack lay at the snapshot before; kept for the next one.  (The list of what
/// is mapped takes longer to read than the stack does, and the thread stands meanwhile.)
Snapshot take_snapshot(pid_t tid, std::size_t most, std::chrono::milliseconds patience,
                       std::optional<Mapped>& stack);

/// The program that process `pid` runs, by its path; "" where that cannot be read.
std::string program_of(pid_t pid);

/// Lets threads go that did not stop in time and have since.  To be called until it gives 0, or until this
/// process ends, which lets them go, too.
std::size_t let_go();

/// The DWARF numbers of this machine's stack pointer and of the registers that a call must keep.
int stack_pointer_number();
const std::vector<int>& kept_registers();

}  // namespace sickbay::ranks
