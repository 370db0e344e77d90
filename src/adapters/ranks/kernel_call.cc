// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/kernel_call.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>

#include "base/words.h"

namespace sickbay::ranks {
namespace {

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
bool is_own_wait(const KernelCall& call, const std::set<std::int64_t>& own) {
  const auto& [address, operation, value, limit] = call.arguments;
  if (call.number != SYS_futex || !operation || !value || !limit) return false;
  const std::int64_t what = *operation & FUTEX_CMD_MASK;
  if (what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET && what != FUTEX_LOCK_PI) return false;
  return *limit == 0 && ((*operation & FUTEX_PRIVATE_FLAG) != 0 || own.contains(*value));
}

std::optional<std::int64_t> argument(std::string_view& rest) {
  std::string_view word = next_word(rest);
  if (!word.starts_with("0x")) return std::nullopt;
  // (Only small numbers matter; an address that does not fit is none of them.)
  return to_integer(word.substr(2), 16);
}

}  // namespace

KernelCall parse_kernel_call(std::string_view text) {
  // "202 0x7f0c 0x189 0x2 0x0 0x0 0xffffffff 0x7ffd 0x7f0d"; "running"; "-1 0x7ffd 0x7f0d": in no call
  std::string_view line = next_line(text).value_or("");
  KernelCall call;
  const auto number = to_integer(next_word(line));
  if (!number || *number < 0) return call;
  call.number = *number;
  for (auto& one : call.arguments) one = argument(line);
  return call;
}

std::optional<std::string> may_go_on(const KernelCall& call, const std::set<std::int64_t>& own) {
  if (call.number < 0) return "";
  if (is_own_wait(call, own)) return std::nullopt;
  const auto* const row = std::ranges::find(kCalls, call.number, &CallRow::number);
  return row != std::end(kCalls) ? std::string(row->name) : fmt::format("call {} of the kernel", call.number);
}

}  // namespace sickbay::ranks
