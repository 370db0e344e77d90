// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/glance.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <random>

#include "adapters/node/process_table.h"
#include "adapters/ranks/counters.h"
#include "adapters/ranks/mapped.h"
#include "adapters/ranks/returns.h"
#include "adapters/ranks/snapshot.h"
#include "adapters/ranks/variables.h"

namespace sickbay::ranks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostCounted = 4;  // calls of a rank: so many breakpoints a processor has
constexpr std::size_t kMostStack = std::size_t{512} << 10;  // a longer one may have a call of MPI further up

bool is_theirs(std::int64_t pid, std::int64_t uid) {
  struct stat owner {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &owner) == 0 && owner.st_uid == uid;
}

void pause(Clock::duration time) {
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  if (left <= 0) return;
  const timespec t{left / 1'000'000'000, left % 1'000'000'000};
  ::nanosleep(&t, nullptr);
}

}  // namespace

// What comes back to it does so soon, mostly: the pauses grow.
bool leaves_its_calls(std::int64_t pid, const GlanceOrder& order, Variables& variables) {
  bool known = false;
  std::vector<ReturnCounter> counters;
  for (const CallReturn& call : order.calls) {
    // (Its first thread's alone, which is surely a thread of the process that was seen.)
    if (call.pid != pid || call.tid != pid || counters.size() == kMostCounted) continue;
    known = true;
    if (!order.count_returns) continue;
    if (auto counter = ReturnCounter::at(static_cast<pid_t>(pid), call.back, CountedBy::processor))
      counters.push_back(std::move(*counter));
  }
  if (!known) return false;
  // Where the processor counts, its word stands alone: variables may be changed by another thread.
  const bool counted = !counters.empty();
  const std::uint64_t before = counted ? 0 : variables.digest();
  if (!counted && before == 0) return false;
  const auto end = Clock::now() + order.returning;
  for (Clock::duration next = std::chrono::milliseconds(1); Clock::now() < end; next *= 2) {
    pause(std::min(next, end - Clock::now()));
    if (counted) {
      if (std::ranges::any_of(counters, [](const ReturnCounter& one) { return one.count().value_or(0) > 0; }))
        return true;
    } else if (const std::uint64_t now = variables.digest(); now != 0 && now != before) {
      return true;
    }
  }
  return false;
}

namespace {

// What does not change from glance to glance: to read it each time took half of each.
struct Known {
  explicit Known(std::int64_t pid) : variables(static_cast<pid_t>(pid)) {}
  std::vector<Mapped> mpi;  // code of MPI's libraries
  std::optional<Mapped> stack;
  Variables variables;
};
using KnownProcesses = std::map<std::int64_t, Known>;

bool runs_outside_mpi(std::int64_t pid, const GlanceOrder& order, Known& known) {
  const auto in_mpi = [&](std::uint64_t place) {
    return std::ranges::any_of(known.mpi, [&](const Mapped& m) { return m.from <= place && place < m.to; });
  };
  const Snapshot s = take_snapshot(static_cast<pid_t>(pid), kMostStack, order.patience, known.stack);
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

bool is_seen_to_go_on(const node::Tree& tree, std::int64_t pid, const GlanceOrder& order,
                      KnownProcesses& known) {
  const auto stat = node::process_stat(tree, std::to_string(pid));
  // The user's own, and the one that was seen: a number may be another process's by now.
  if (!stat || !is_theirs(pid, order.uid)) return false;
  if (stat->started > order.seen.time_since_epoch().count() / (1'000'000 / ticks_per_second())) return false;
  Known& one = known.try_emplace(pid, pid).first->second;
  if (one.mpi.empty())
    for (Mapped& mapped : mapped_by(tree, pid))
      if (mapped.executable && is_mpi_library(mapped.path)) one.mpi.push_back(std::move(mapped));
  // Nothing is said of a program that has MPI linked in: its variables change with each poll.
  if (one.mpi.empty()) return false;
  // Who is known to be in MPI mostly is asked first whether it leaves it: for that nobody is stopped.
  return leaves_its_calls(pid, order, one.variables) ||
         (stat->state == 'R' && runs_outside_mpi(pid, order, one));
}

// Any number below `many`.
std::size_t anyone(std::size_t many) {
  static std::minstd_rand numbers(std::random_device{}());
  return many < 2 ? 0 : numbers() % many;
}

bool surely_go_on(const node::Tree& tree, const GlanceOrder& order, KnownProcesses& known) {
  // One rank of each program is enough: the whole program then goes on.
  for (const std::vector<std::int64_t>& ranks : order.programs) {
    if (ranks.empty()) return false;
    const std::size_t first = anyone(ranks.size()), most = std::min(order.most, ranks.size());
    bool found = false;
    for (std::size_t i = 0; i < most && !found; ++i)
      found = is_seen_to_go_on(tree, ranks[(first + i) % ranks.size()], order, known);
    if (!found) return false;
  }
  return !order.programs.empty();
}

}  // namespace

bool surely_goes_on(const node::Tree& tree, const GlanceOrder& order) {
  KnownProcesses known;
  return surely_go_on(tree, order, known);
}

GlancesEnd glance_for(const node::Tree& tree, const GlanceOrder& order, std::chrono::milliseconds again,
                      std::chrono::milliseconds last) {
  const pid_t parent = ::getppid();
  const auto end = Clock::now() + last;
  KnownProcesses known;
  for (auto next = Clock::now();;) {
    if (!surely_go_on(tree, order, known)) return GlancesEnd::cannot_say;
    // A thread that stops only now would stand until the next glance.
    if (let_go() > 0) return GlancesEnd::early;
    next = std::max(next + again, Clock::now());
    pause(std::min(next, end) - Clock::now());
    if (::getppid() != parent) return GlancesEnd::early;
    if (next > end) return GlancesEnd::over;
  }
}

}  // namespace sickbay::ranks
