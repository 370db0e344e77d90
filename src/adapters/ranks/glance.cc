// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/glance.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "adapters/node/process_table.h"
#include "adapters/ranks/counters.h"
#include "adapters/ranks/mapped.h"
#include "adapters/ranks/snapshot.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostStack = std::size_t{512} << 10;  // a longer one may have a call of MPI further up

bool is_theirs(std::int64_t pid, std::int64_t uid) {
  struct stat owner {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0 && owner.st_uid == uid;
}

bool runs_outside_mpi(const node::Tree& tree, std::int64_t pid, const GlanceOrder& order) {
  const auto stat = node::process_stat(tree, std::to_string(pid));
  // Running now, and the user's own: a number may be another process's by now.
  if (!stat || stat->state != 'R' || !is_theirs(pid, order.uid)) return false;
  if (stat->started > order.seen.time_since_epoch().count() / (1'000'000 / ticks_per_second())) return false;
  std::vector<Mapped> code;  // of MPI
  for (Mapped& one : mapped_by(tree, pid))
    if (one.executable && is_mpi_library(one.path)) code.push_back(std::move(one));
  if (code.empty()) return false;
  const auto in_mpi = [&](std::uint64_t place) {
    return std::ranges::any_of(code, [&](const Mapped& m) { return m.from <= place && place < m.to; });
  };
  const Snapshot s = take_snapshot(static_cast<pid_t>(pid), kMostStack, order.patience);
  // Only what is certain counts: a stack that was not read whole may have a call of MPI further up.
  if (!s.why.empty() || !s.complete || in_mpi(s.pc)) return false;
  // Every word of the stack is looked at, not frames: it is cheap, and can only err towards "in MPI".
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= s.stack.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, s.stack.data() + at, sizeof word);
    if (in_mpi(word)) return false;
  }
  return true;
}

}  // namespace

bool surely_goes_on(const node::Tree& tree, const GlanceOrder& order) {
  // One rank of each program that computes is enough: the whole program then goes on.
  for (const std::vector<std::int64_t>& ranks : order.programs) {
    if (ranks.empty()) return false;
    const std::size_t first = std::random_device{}() % ranks.size(),
                      most = std::min(order.most, ranks.size());
    bool found = false;
    for (std::size_t i = 0; i < most && !found; ++i)
      found = runs_outside_mpi(tree, ranks[(first + i) % ranks.size()], order);
    if (!found) return false;
  }
  return !order.programs.empty();
}

}  // namespace sickbay::ranks
