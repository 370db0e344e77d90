// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/counters.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>

#include "adapters/node/parse.h"
#include "adapters/node/process_table.h"
#include "base/words.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostTcp = 1 << 20;  // 7,000 connections
constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max() / 4;

// (Sums that stop at a bound: what /proc says may be anything.)
std::int64_t added(std::int64_t sum, std::int64_t more) {
  return std::min(kMostBytes, sum + std::clamp<std::int64_t>(more, 0, kMostBytes));
}

// Whether its control group is frozen (version 2), as a suspended job's may be: it looks asleep then, and
// does nothing before somebody thaws it.
bool is_frozen(const node::Tree& tree, std::int64_t pid) {
  const auto groups = tree.read(fmt::format("/proc/{}/cgroup", pid), 65536);
  std::string_view rest = groups ? std::string_view(*groups) : std::string_view();
  while (const auto group = node::next_control_group(rest)) {
    if (!group->controllers.empty() || group->path.find("..") != std::string_view::npos) continue;
    const auto events = tree.read(fmt::format("/sys/fs/cgroup{}/cgroup.events", group->path), 4096);
    std::string_view words = events ? std::string_view(*events) : std::string_view();
    while (const auto one = next_line(words))
      if (*one == "frozen 1") return true;
  }
  return false;
}

bool is_in_our_network(const node::Tree& tree, std::int64_t pid) {
  return node::is_our_network(tree, node::network_of(tree, std::to_string(pid)));
}

}  // namespace

std::int64_t ticks_per_second() {
  static const std::int64_t ticks = std::max<std::int64_t>(1, ::sysconf(_SC_CLK_TCK));
  return ticks;
}

std::int64_t own_cpu() {
  rusage use{};
  ::getrusage(RUSAGE_SELF, &use);
  return (static_cast<std::int64_t>(use.ru_utime.tv_sec) + use.ru_stime.tv_sec) * 1'000'000 +
         use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

RankRound count(const node::Tree& tree, const FoundRank& rank, TimePoint at) {
  RankRound round;
  round.at = at;
  const auto stat = node::process_stat(tree, std::to_string(rank.pid));
  // The start tells a process from a later one of the same number.
  if (!stat || stat->started != rank.started || stat->state == 'Z') {
    round.state = 'X';
    round.why = "it has ended";
    return round;
  }
  round.state = stat->state == 'S' && is_frozen(tree, rank.pid) ? 'T' : stat->state;
  round.cpu_us = stat->ticks * (1'000'000 / ticks_per_second());
  // The first thread's own: /proc/PID/status of a process is that of its first thread.
  if (const auto status = tree.read(fmt::format("/proc/{}/status", rank.pid), 16384))
    round.switches = node::field_of(*status, "voluntary_ctxt_switches").value_or(0) +
                     node::field_of(*status, "nonvoluntary_ctxt_switches").value_or(0);
  // (Without rights over the process it cannot be read.)
  if (const auto io = tree.read(fmt::format("/proc/{}/io", rank.pid), 4096)) {
    const auto read = node::field_of(*io, "rchar"), written = node::field_of(*io, "wchar");
    if (read && written) round.io_bytes = added(*read, *written);
  }
  return round;
}

std::vector<ThreadTicks> other_threads(const node::Tree& tree, std::int64_t pid, std::size_t most) {
  std::vector<ThreadTicks> threads;
  const std::string folder = fmt::format("/proc/{}/task", pid);
  for (const std::string& name : tree.list(folder)) {
    const auto tid = to_integer(name);
    if (!tid || *tid == pid) continue;
    if (threads.size() == most) break;
    const auto text = tree.read(fmt::format("{}/{}/stat", folder, name), 4096);
    const auto stat = text ? node::parse_process_stat(*text) : std::nullopt;
    if (stat) threads.push_back({*tid, stat->ticks, stat->state});
  }
  return threads;
}

std::int64_t parse_net_dev(std::string_view text) {
  //  face |bytes packets errs drop fifo frame compressed multicast|bytes ...: two lines of heads
  std::int64_t sum = 0;
  while (const auto line = next_line(text)) {
    const std::size_t colon = line->find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view rest = line->substr(colon + 1);
    for (int column = 0; column < 9; ++column) {
      const auto value = to_integer(next_word(rest));
      if (value && (column == 0 || column == 8)) sum = added(sum, *value);
    }
  }
  return sum;
}

std::int64_t parse_unsent(std::string_view text, std::int64_t uid) {
  //   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 ...
  std::int64_t sum = 0;
  while (const auto line = next_line(text)) {
    std::string_view rest = *line;
    for (int column = 0; column < 3; ++column) next_word(rest);
    const std::string_view state = next_word(rest), queues = next_word(rest);
    for (int column = 0; column < 2; ++column) next_word(rest);
    // 01: established.  Of one that listens the columns mean something else.
    if (state != "01" || to_integer(next_word(rest)) != uid) continue;
    sum = added(sum, to_integer(queues.substr(0, queues.find(':')), 16).value_or(0));
  }
  return sum;
}

std::optional<std::int64_t> network_bytes(const node::Tree& tree, std::int64_t pid) {
  const auto text = tree.read(fmt::format("/proc/{}/net/dev", pid));
  return text ? std::optional(parse_net_dev(*text)) : std::nullopt;
}

std::optional<node::TcpBytesByInode> connections_of(const node::Tree& tree, std::int64_t pid) {
  return is_in_our_network(tree, pid) ? node::tcp_bytes() : std::nullopt;
}

std::optional<std::int64_t> carried_bytes(const node::Tree& tree, const std::vector<std::int64_t>& pids,
                                          const std::optional<node::TcpBytesByInode>& connections) {
  if (!connections) return std::nullopt;
  std::set<std::int64_t> held;  // forked processes hold the same
  for (const std::int64_t pid : pids)
    if (!is_in_our_network(tree, pid) || !node::add_held_sockets(tree, pid, held)) return std::nullopt;
  const node::Carried all = node::carried_by(*connections, held);
  if (!all.sent) return std::nullopt;
  return added(*all.sent, *all.received);
}

std::optional<std::int64_t> unsent_bytes(const node::Tree& tree, std::int64_t pid, std::int64_t uid,
                                         const std::optional<node::TcpBytesByInode>& connections) {
  std::optional<std::int64_t> sum;
  if (connections) {
    sum = 0;
    for (const auto& [inode, bytes] : *connections)
      if (bytes.uid == uid) sum = added(*sum, bytes.unsent);
    return sum;
  }
  for (const char* file : {"tcp", "tcp6"})
    if (const auto text = tree.read(fmt::format("/proc/{}/net/{}", pid, file), kMostTcp))
      sum = added(sum.value_or(0), parse_unsent(*text, uid));
  return sum;
}

}  // namespace sickbay::ranks
