// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/others.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>

#include "base/words.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostLookedAt = 512;

struct CallRow {
  long number;
  std::string_view name;
};
// For people: any other call is told by its number, and is a doubt all the same.  (Newer architectures lack
// some.)
constexpr CallRow kCalls[] = {
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_restart_syscall, "a sleep with a time limit"},
    {SYS_ppoll, "ppoll"},
    {SYS_pselect6, "pselect"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_read, "read"},
    {SYS_readv, "readv"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_connect, "connect"},
    {SYS_wait4, "waitpid"},
    {SYS_waitid, "waitid"},
    {SYS_rt_sigtimedwait, "sigwait"},
    {SYS_rt_sigsuspend, "sigsuspend"},
    {SYS_semtimedop, "semtimedop"},
    {SYS_msgrcv, "msgrcv"},
    {SYS_mq_timedreceive, "mq_receive"},
    {SYS_flock, "flock"},
    {SYS_fcntl, "fcntl"},
};

// A wait without a limit on a futex that is the process's own.  A process joins a thread by a futex that is
// not marked so, in which the kernel keeps that thread's number.
bool is_own_wait(std::int64_t operation, std::int64_t value, std::int64_t limit,
                 const std::set<std::int64_t>& own) {
  const std::int64_t what = operation & FUTEX_CMD_MASK;
  if (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET && what != FUTEX_LOCK_PI) return false;
  return limit == 0 && ((operation & FUTEX_PRIVATE_FLAG) != 0 || own.contains(value));
}

std::optional<std::int64_t> argument(std::string_view& rest) {
  std::string_view word = next_word(rest);
  if (!word.starts_with("0x")) return std::nullopt;
  // (Only small numbers matter; an address that does not fit is none of them.)
  return to_integer(word.substr(2), 16);
}

}  // namespace

std::optional<std::string> parse_kernel_call(std::string_view text, const std::set<std::int64_t>& own) {
  // "202 0x7f0c 0x189 0x2 0x0 0x0 0xffffffff 0x7ffd 0x7f0d"; "running"; "-1 0x7ffd 0x7f0d": in no call
  std::string_view line = next_line(text).value_or("");
  const auto number = to_integer(next_word(line));
  if (!number || *number < 0) return "";
  std::array<std::optional<std::int64_t>, 4> arguments;
  for (auto& one : arguments) one = argument(line);
  if (*number == SYS_futex && arguments[1] && arguments[2] && arguments[3] &&
      is_own_wait(*arguments[1], *arguments[2], *arguments[3], own))
    return std::nullopt;
  const auto* const row = std::ranges::find(kCalls, *number, &CallRow::number);
  return row != std::end(kCalls) ? std::string(row->name) : fmt::format("call {} of the kernel", *number);
}

Others other_threads_that_may_go_on(const node::Tree& tree, std::int64_t pid) {
  Others found;
  const std::string folder = fmt::format("/proc/{}/task", pid);
  std::set<std::int64_t> own;
  for (const std::string& name : tree.list(folder))
    if (const auto tid = to_integer(name)) own.insert(*tid);
  std::size_t looked_at = 0;
  for (const std::int64_t tid : own) {
    if (++looked_at > kMostLookedAt) {
      found.all = false;
      break;
    }
    const auto text = tree.read(fmt::format("{}/{}/syscall", folder, tid), 4096);
    // One that has ended meanwhile does nothing any more; what is not readable may do anything.
    if (!text && text.error().code == ErrorCode::not_found && !tree.exists(fmt::format("{}/{}", folder, tid)))
      continue;
    if (auto call = parse_kernel_call(text.value_or(""), own)) found.threads.push_back({tid, *call});
  }
  return found;
}

}  // namespace sickbay::ranks
