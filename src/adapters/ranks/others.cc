// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/others.h"

#include <fmt/format.h>

#include "adapters/ranks/kernel_call.h"
#include "base/words.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostLookedAt = 512;

}  // namespace

Others other_threads_that_may_go_on(const node::Tree& tree, std::int64_t pid) {
  Others found;
  const std::string folder = fmt::format("/proc/{}/task", pid);
  for (const std::string& name : tree.list(folder))
    if (const auto tid = to_integer(name)) found.own.insert(*tid);
  std::size_t looked_at = 0;
  for (const std::int64_t tid : found.own) {
    if (++looked_at > kMostLookedAt) {
      found.all = false;
      break;
    }
    const auto text = tree.read(fmt::format("{}/{}/syscall", folder, tid), 4096);
    // One that has ended meanwhile does nothing any more; what is not readable may do anything.
    if (!text && text.error().code == ErrorCode::not_found && !tree.exists(fmt::format("{}/{}", folder, tid)))
      continue;
    if (auto call = may_go_on(parse_kernel_call(text.value_or("")), found.own))
      found.threads.push_back({tid, *call});
  }
  return found;
}

}  // namespace sickbay::ranks
