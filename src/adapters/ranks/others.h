// SPDX-License-Identifier: Apache-2.0
// The threads of a rank: which of them may go on without another thread of its process?
//
// One that waits without a limit for a lock or a condition of its own process (a futex) does nothing before
// another thread wakes it; so does one that joins another.  Every other thread runs, or ends its sleep by
// time, by a message, a file, a signal, a child: nobody can say that it will not do something.  Read is what
// the kernel tells without a stop: /proc/PID/task/TID/syscall (proc(5)).
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/node/tree.h"

namespace sickbay::ranks {

/// What the text says of the call of the kernel that a thread is in: its name; "" it runs, or stands where
/// it may go on.  Nothing where only another thread of its process, whose threads are `own`, can wake it.
/// Total: what is not known may go on.
std::optional<std::string> parse_kernel_call(std::string_view text, const std::set<std::int64_t>& own);

struct Other {
  std::int64_t tid = 0;
  std::string call;  ///< as above
};
struct Others {
  std::vector<Other> threads;  ///< that may go on
  bool all = true;             ///< all threads of the process were looked at
};
/// Those of process `pid`, its first thread among them.
Others other_threads_that_may_go_on(const node::Tree& tree, std::int64_t pid);

}  // namespace sickbay::ranks
