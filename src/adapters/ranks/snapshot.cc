// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/snapshot.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>

#include "adapters/node/tree.h"
#include "adapters/ranks/mapped.h"
#include "base/text.h"

namespace sickbay::ranks {
namespace {

using Clock = std::chrono::steady_clock;

// Threads that were asked to stop and have not: each must be let go once it does.
std::set<pid_t>& owed() {
  static std::set<pid_t> threads;
  return threads;
}

std::string why_not(int error, pid_t tid) {
  if (error == ESRCH) return "it has ended";
  if (error != EPERM) return std::strerror(error);
  // Who traces it already, in words: that is the usual cause where we have the right.
  std::string tracer;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> status(
      std::fopen(fmt::format("/proc/{}/status", tid).c_str(), "re"), &std::fclose);
  char line[256];
  while (status && std::fgets(line, sizeof line, status.get()) != nullptr)
    if (std::strncmp(line, "TracerPid:", 10) == 0) tracer = trimmed(line + 10);
  if (!tracer.empty() && tracer != "0") return "process " + tracer + " traces it already";
  return "the system does not permit to trace it";
}

#if defined(__x86_64__)
constexpr std::int64_t kFirstRestart = 512, kLastRestart = 516;
// Source: System V ABI, AMD64 supplement, figure 3.36 (DWARF numbers).
bool read_registers(pid_t tid, Snapshot& s) {
  user_regs_struct r{};
  iovec place{&r, sizeof r};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &place) != 0) return false;
  const std::uint64_t in_order[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
                                    r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
  std::ranges::copy(in_order, s.registers.begin());
  s.register_count = std::size(in_order);
  s.pc = r.rip;
  s.sp = r.rsp;
  // Of a call that was ended by the stop alone the kernel keeps the number, and one of its own errors that
  // no program ever sees: ERESTARTSYS and its like (include/linux/errno.h).
  const auto failed = -static_cast<std::int64_t>(r.rax);
  if (static_cast<std::int64_t>(r.orig_rax) >= 0 && failed >= kFirstRestart && failed <= kLastRestart) {
    const auto number = [](std::uint64_t word) { return static_cast<std::int64_t>(word); };
    s.interrupted = {number(r.orig_rax), {number(r.rdi), number(r.rsi), number(r.rdx), number(r.r10)}};
  }
  return true;
}
#elif defined(__aarch64__)
// Source: DWARF for the Arm 64-bit architecture: x0 to x30, then the stack pointer.
bool read_registers(pid_t tid, Snapshot& s) {
  user_regs_struct r{};
  iovec place{&r, sizeof r};
  if (::ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &place) != 0) return false;
  std::copy_n(r.regs, 31, s.registers.begin());
  s.registers[31] = r.sp;
  s.register_count = 32;
  s.pc = r.pc;
  s.sp = r.sp;
  return true;
}
#else
bool read_registers(pid_t, Snapshot&) {
  errno = ENOSYS;
  return false;
}
#endif

void copy_stack(pid_t tid, std::size_t most, std::optional<Mapped>& mapping, Snapshot& s) {
  if (!mapping || s.sp < mapping->from || mapping->to <= s.sp)
    mapping = mapping_of(node::Tree("/"), tid, s.sp);
  if (!mapping) {
    s.why = "its stack pointer points to no memory";
    return;
  }
  const std::uint64_t end = mapping->to;
  s.stack.resize(std::min<std::uint64_t>(most, end - s.sp));
  const iovec here{s.stack.data(), s.stack.size()};
  const iovec there{reinterpret_cast<void*>(s.sp), s.stack.size()};
  // One call for the whole copy: the thread is stopped only so long.
  const ssize_t n = ::process_vm_readv(tid, &here, 1, &there, 1, 0);
  if (n <= 0) s.why = fmt::format("its stack cannot be read: {}", std::strerror(errno));
  s.stack.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  s.complete = s.stack.size() == end - s.sp;
}

}  // namespace

Snapshot take_snapshot(pid_t tid, std::size_t most, std::chrono::milliseconds patience,
                       std::optional<Mapped>& stack) {
  Snapshot s;
  s.tid = tid;
  if (owed().contains(tid)) {
    s.why = "it did not stop for the look before, and has not since";
    return s;
  }
  // SEIZE and not ATTACH, which would send the thread a SIGSTOP.
  if (::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
    s.why = why_not(errno, tid);
    return s;
  }
  const auto began = Clock::now();
  if (::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr) != 0) {
    s.why = why_not(errno, tid);
    ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    return s;
  }
  for (auto pause = std::chrono::microseconds(20);;
       pause = std::min(2 * pause, std::chrono::microseconds(2000))) {
    int status = 0;
    const pid_t got = ::waitpid(tid, &status, __WALL | WNOHANG);
    if (got == tid && WIFSTOPPED(status)) {
      // A signal that came first is the thread's own: it must have it when it goes on.
      const bool by_us = status >> 16 == PTRACE_EVENT_STOP;
      const long signal = by_us ? 0 : WSTOPSIG(status);
      if (!read_registers(tid, s))
        s.why = errno == ENOSYS ? "stacks are not read on this kind of processor" : std::strerror(errno);
      else
        copy_stack(tid, most, stack, s);
      ::ptrace(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(signal));
      s.stopped = std::chrono::duration_cast<Micros>(Clock::now() - began);
      return s;
    }
    if (got == tid || (got < 0 && errno != EINTR)) {
      s.why = "it has ended";
      return s;
    }
    if (Clock::now() - began > patience) break;
    const timespec wait{0, pause.count() * 1000};
    ::nanosleep(&wait, nullptr);
  }
  owed().insert(tid);
  s.why = fmt::format(
      "it did not stop within {} ms: it gets no processor, or is in a call of the kernel that cannot be "
      "interrupted",
      patience.count());
  return s;
}

Snapshot take_snapshot(pid_t tid, std::size_t most, std::chrono::milliseconds patience) {
  std::optional<Mapped> unknown;
  return take_snapshot(tid, most, patience, unknown);
}

std::size_t let_go() {
  std::erase_if(owed(), [](pid_t tid) {
    int status = 0;
    const pid_t got = ::waitpid(tid, &status, __WALL | WNOHANG);
    if (got == 0) return false;
    if (got == tid && WIFSTOPPED(status)) {
      const long signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
      ::ptrace(PTRACE_DETACH, tid, nullptr, reinterpret_cast<void*>(signal));
    }
    return true;
  });
  return owed().size();
}

std::string program_of(pid_t pid) {
  return node::Tree("/").link(fmt::format("/proc/{}/exe", pid)).value_or("");
}

#if defined(__aarch64__)
int stack_pointer_number() { return 31; }
const std::vector<int>& kept_registers() {
  static const std::vector<int> all = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
  return all;
}
#else
int stack_pointer_number() { return 7; }
const std::vector<int>& kept_registers() {
  static const std::vector<int> all = {3, 6, 12, 13, 14, 15};
  return all;
}
#endif

}  // namespace sickbay::ranks
