// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/returns.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "adapters/node/tree.h"
#include "adapters/ranks/mapped.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::ranks {
namespace {

constexpr std::size_t kMostEndings = 32;  // at once: threads that only wait

Error refused(int error) {
  return Error(error == ESRCH                      ? ErrorCode::not_found
               : error == EACCES || error == EPERM ? ErrorCode::denied
                                                   : ErrorCode::os,
               error == ESRCH ? "it has ended" : std::string("perf_event_open: ") + std::strerror(error));
}

// The descriptor of an event of one thread, which counts one and is off then; -1 and errno where there is
// none.
int open_event(perf_event_attr& attributes, pid_t tid) {
  attributes.size = sizeof attributes;
  attributes.sample_period = 1;  // each one counts for PERF_EVENT_IOC_REFRESH
  attributes.disabled = 1;
  const int fd =
      static_cast<int>(::syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd >= 0 && ::ioctl(fd, PERF_EVENT_IOC_REFRESH, 1) != 0) {
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

std::optional<std::int64_t> read_event(int fd) {
  std::int64_t count = 0;
  if (::read(fd, &count, sizeof count) != static_cast<ssize_t>(sizeof count)) return std::nullopt;
  return count;
}

Result<int> open_breakpoint(pid_t tid, std::uint64_t address) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_X;
  attributes.bp_addr = address;
  attributes.bp_len = sizeof(long);  // what the kernel wants of one on code
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const int fd = open_event(attributes, tid);
  if (fd < 0) return fail(refused(errno));
  return fd;
}

// Whether the instruction that ends at `address` is a call, so that another one begins there.
bool follows_a_call(pid_t tid, std::uint64_t address) {
#if defined(__x86_64__)
  constexpr std::size_t kLongest = 7;  // without prefixes, which stand before
  std::array<std::uint8_t, kLongest> code{};
  const iovec here{code.data(), code.size()};
  const iovec there{reinterpret_cast<void*>(address - kLongest), code.size()};
  if (::process_vm_readv(tid, &here, 1, &there, 1, 0) != static_cast<ssize_t>(code.size())) return false;
  if (code[kLongest - 5] == 0xe8) return true;  // call with a distance of 32 bits
  // FF /2, call by what a register or a place in memory holds: as long as how it is addressed says.
  for (std::size_t length = 2; length <= kLongest; ++length) {
    const std::uint8_t* at = code.data() + kLongest - length;
    if (at[0] != 0xff || (at[1] >> 3 & 7) != 2) continue;
    const unsigned mode = at[1] >> 6, place = at[1] & 7;
    std::size_t needs = 2;
    if (mode != 3 && place == 4) ++needs;                    // a further byte says of what registers
    if (mode == 1) ++needs;                                  // a distance of 8 bits
    if (mode == 2 || (mode == 0 && place == 5)) needs += 4;  // of 32
    if (mode == 0 && place == 4 && (at[2] & 7) == 5) needs += 4;
    if (needs == length) return true;
  }
  return false;
#else
  return address % 4 == 0 && tid != 0;  // all instructions are of one length
#endif
}

// The kernel's number for probes of this kind; nothing where it has none.
std::optional<std::uint32_t> probe_type() {
  const auto text = node::Tree("/").read("/sys/bus/event_source/devices/uprobe/type", 16);
  const auto type = text ? to_integer(trimmed(*text)) : std::nullopt;
  return type ? std::optional(static_cast<std::uint32_t>(*type)) : std::nullopt;
}

Result<int> open_probe(pid_t tid, std::uint64_t address) {
  static const std::optional<std::uint32_t> type = probe_type();
  if (!type) return fail(ErrorCode::os, "this kernel has no probes of programs (uprobes)");
  const auto code = mapping_of(node::Tree("/"), tid, address);
  if (!code || !code->executable || code->path.empty() || code->path.front() != '/')
    return fail(ErrorCode::os, "its code lies in no file");
  // A trap within an instruction would be another program.
  if (address - code->from < 8 || !follows_a_call(tid, address))
    return fail(ErrorCode::os, "no call ends there");
  // The very file, whatever its path means to that process, and were it deleted.
  const std::string file = fmt::format("/proc/{}/map_files/{:x}-{:x}", tid, code->from, code->to);
  perf_event_attr attributes{};
  attributes.type = *type;
  attributes.uprobe_path = reinterpret_cast<std::uint64_t>(file.c_str());
  attributes.probe_offset = address - code->from + code->offset;
  const int fd = open_event(attributes, tid);
  if (fd < 0) return fail(refused(errno));
  return fd;
}

// A place of our own code that nobody else comes to, behind a call.
__attribute__((noinline)) std::uint64_t return_address() {
  asm volatile("" ::: "memory");
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
}
__attribute__((noinline)) std::uint64_t come_to_a_place() {
  const std::uint64_t place = return_address();
  asm volatile("" ::: "memory");
  return place;
}

// "": what stood in our own way was counted when we came there, and not before.
template <class Open>
std::string try_on_ourselves(Open open, const char* what) {
  const Result<int> fd = open(::gettid(), come_to_a_place());
  if (!fd) return fd.error().what;
  const auto before = read_event(*fd);
  come_to_a_place();
  const auto after = read_event(*fd);
  ::close(*fd);
  if (before && after && *before == 0 && *after >= 1) return {};
  return fmt::format("this machine's {} do not work", what);
}

}  // namespace

Result<ReturnCounter> ReturnCounter::at(pid_t tid, std::uint64_t address, CountedBy by) {
  static const std::string no_breakpoints = try_on_ourselves(open_breakpoint, "breakpoints");
  Result<int> opened = fail(ErrorCode::os, no_breakpoints);
  if (by != CountedBy::kernel && no_breakpoints.empty()) opened = open_breakpoint(tid, address);
  // (Also where a debugger, or a program that measures, has all of the processor's.)
  if (!opened && opened.error().code == ErrorCode::os && by != CountedBy::processor) {
    static const std::string no_probes = try_on_ourselves(open_probe, "probes of programs (uprobes)");
    if (no_probes.empty())
      opened = open_probe(tid, address);
    else
      opened = fail(ErrorCode::os, no_breakpoints.empty() ? no_probes : no_breakpoints + "; " + no_probes);
  }
  if (!opened) return fail(std::move(opened.error()));
  return ReturnCounter(*opened);
}

ReturnCounter::ReturnCounter(ReturnCounter&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), last_(other.last_) {}

ReturnCounter& ReturnCounter::operator=(ReturnCounter&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(last_, other.last_);
  return *this;
}

ReturnCounter::~ReturnCounter() { end(); }

std::optional<std::int64_t> ReturnCounter::count() const { return ended() ? last_ : read_event(fd_); }

void ReturnCounter::end() {
  if (ended()) return;
  last_ = read_event(fd_);
  ::close(std::exchange(fd_, -1));
}

void end_counts(std::span<ReturnCounter* const> counters) {
  const std::size_t side_by_side = std::min(counters.size(), kMostEndings);
  std::vector<std::jthread> others;
  const auto end_each = [&](std::size_t first) {
    for (std::size_t i = first; i < counters.size(); i += side_by_side) counters[i]->end();
  };
  for (std::size_t first = 1; first < side_by_side; ++first) {
    try {
      others.emplace_back(end_each, first);
    } catch (const std::system_error&) {  // no thread to be had
      end_each(first);
    }
  }
  if (side_by_side > 0) end_each(0);
}

}  // namespace sickbay::ranks
