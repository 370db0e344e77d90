// SPDX-License-Identifier: Apache-2.0
// The threads of a rank that may go on without another thread of its process (kernel_call.h).  Read is what
// the kernel tells without a stop.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "adapters/node/tree.h"

namespace sickbay::ranks {

struct Other {
  std::int64_t tid = 0;
  std::string call;  ///< may_go_on
};
struct Others {
  std::vector<Other> threads;  ///< that may go on
  std::set<std::int64_t> own;  ///< all threads of the process
  bool all = true;             ///< all of them were looked at
};
/// Those of process `pid`, its first thread among them.
Others other_threads_that_may_go_on(const node::Tree& tree, std::int64_t pid);

}  // namespace sickbay::ranks
