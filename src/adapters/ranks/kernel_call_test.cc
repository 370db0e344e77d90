// SPDX-License-Identifier: Apache-2.0
#include "adapters/ranks/kernel_call.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

namespace sickbay::ranks {
namespace {

std::string futex(int operation, int value, std::string_view limit) {
  return fmt::format("{} 0x7ffff0c01234 {:#x} {:#x} {} 0x0 0xffffffff 0x7ffd12 0x7f0d12\n", SYS_futex,
                     operation, value, limit);
}

TEST(KernelCall, OnlyWhomNobodyElseWakesIsLeftOut) {
  const struct {
    const char* what;
    std::string text;
    std::optional<std::string> call;
  } rows[] = {
      {"a lock", futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, "0x0"), std::nullopt},
      {"a condition", futex(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, 0, "0x0"),
       std::nullopt},
      {"joins a thread of its own", futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0x12, "0x0"),
       std::nullopt},
      {"a semaphore that other processes share", futex(FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, "0x0"),
       "futex"},
      {"for a time", futex(FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2, "0x7ffd00"), "futex"},
      {"another operation", futex(FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, "0x0"), "futex"},
      {"sleeps", fmt::format("{} 0x0 0x0 0x7ffd 0x0 0x0 0x0 0x7ffd 0x7f\n", SYS_clock_nanosleep),
       "clock_nanosleep"},
      {"reads", fmt::format("{} 0x0 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd 0x7f\n", SYS_read), "read"},
      {"a sleep that was looked at", fmt::format("{} 0x0\n", SYS_restart_syscall),
       "a sleep with a time limit"},
      {"an unknown call", "99999 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", "call 99999 of the kernel"},
      {"runs", "running\n", ""},
      {"in no call", "-1 0x7ffd 0x7f\n", ""},
      {"not readable", "", ""},
      {"a futex, cut off", fmt::format("{} 0x7f", SYS_futex), "futex"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(may_go_on(parse_kernel_call(row.text), {17, 18, 19}), row.call) << row.what;
}

}  // namespace
}  // namespace sickbay::ranks
