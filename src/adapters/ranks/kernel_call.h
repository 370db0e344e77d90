// SPDX-License-Identifier: Apache-2.0
// The call of the kernel that a thread is in: may it end without another thread of its process?
//
// One that waits without a limit for a lock or a condition of its own process (a futex) does nothing before
// another thread wakes it; so does one that joins another.  Every other thread runs, or ends its sleep by
// time, by a message, a file, a signal, a child: nobody can say that it will not do something.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace sickbay::ranks {

struct KernelCall {
  std::int64_t number = -1;                              ///< as in <sys/syscall.h>; -1: in none, it runs
  std::array<std::optional<std::int64_t>, 4> arguments;  ///< the first four; nothing: not known, or too large
};

/// What /proc/PID/task/TID/syscall says (proc(5)).  Total: of what cannot be read nothing is known.
KernelCall parse_kernel_call(std::string_view text);

/// Its name; "" the thread runs, or stands where it may go on.  Nothing where only another thread of its
/// process, whose threads are `own`, can wake it.  Total: what is not known may go on.
std::optional<std::string> may_go_on(const KernelCall& call, const std::set<std::int64_t>& own);

}  // namespace sickbay::ranks
