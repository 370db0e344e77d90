// SPDX-License-Identifier: Apache-2.0
// Glances at real processes.
#include "adapters/ranks/glance.h"

#include <gtest/gtest.h>

#include "adapters/ranks/mapped.h"
#include "adapters/ranks/ranks_test_parts.h"

namespace sickbay::ranks {
namespace {

GlanceOrder order_of(const Target& target) {
  GlanceOrder order;
  order.programs = {{target.pid()}};
  order.uid = ::getuid();
  order.seen = TimePoint(std::chrono::hours(24 * 365 * 100));
  order.patience = std::chrono::milliseconds(2000);
  return order;
}
// Once of many: a thread that runs is runnable at most looks, and in the kernel at some.
bool ever(const GlanceOrder& order) {
  const node::Tree tree("/");
  for (int tries = 0; tries < 200; ++tries)
    if (surely_goes_on(tree, order)) return true;
  return false;
}

TEST(Glance, OneThatRunsOutsideMpiGoesOn) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target target(program, "spin");
    ASSERT_TRUE(target.has_run());
    EXPECT_TRUE(ever(order_of(target))) << program;
  }
}

TEST(Glance, OfWhoIsInMpiNobodyCanSay) {
  // Whether it stays there or comes back to the call: that is for a whole look.
  const Target target(SB_PLAIN, "mpi");
  ASSERT_TRUE(target.has_run());
  EXPECT_FALSE(ever(order_of(target)));
}

TEST(Glance, WhoSleepsIsStoppedOrGoneSaysNothing) {
  const Target sleeps(SB_PLAIN, "blocked");
  ASSERT_TRUE(sleeps.sleeps());
  EXPECT_FALSE(ever(order_of(sleeps)));

  Target target(SB_PLAIN, "spin");
  ASSERT_TRUE(target.has_run());
  const GlanceOrder order = order_of(target);
  ASSERT_EQ(::kill(target.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(target.pid(), &status, WUNTRACED), target.pid());
  EXPECT_FALSE(ever(order));
  target.end();
  EXPECT_FALSE(ever(order));
}

TEST(Glance, AnothersProcessOrALaterOneIsNotTaken) {
  const Target target(SB_PLAIN, "spin");
  ASSERT_TRUE(target.has_run());
  GlanceOrder later = order_of(target), strangers = order_of(target);
  later.seen = TimePoint(Micros(1));  // long before it began
  EXPECT_FALSE(ever(later));
  strangers.uid = 4711;
  EXPECT_FALSE(ever(strangers));
}

TEST(Glance, EachProgramMustGoOn) {
  const Target runs(SB_PLAIN, "spin"), waits(SB_PLAIN, "mpi");
  ASSERT_TRUE(runs.has_run() && waits.has_run());
  GlanceOrder order = order_of(runs);
  order.programs = {{runs.pid(), waits.pid()}};
  EXPECT_TRUE(ever(order)) << "one of a program is enough";
  order.programs = {{runs.pid()}, {waits.pid()}};
  EXPECT_FALSE(ever(order));
  order.programs = {{runs.pid()}, {}};
  EXPECT_FALSE(ever(order));
  order.programs.clear();
  EXPECT_FALSE(ever(order));
}

TEST(Glance, WhatIsMapped) {
  const auto all = parse_maps(
      "55d0c0a00000-55d0c0a21000 r--p 00000000 fe:01 99 /home/a b/prog\n"
      "7f1c0a000000-7f1c0a021000 r-xp 00001000 fe:01 1234                 /usr/lib/libmpich.so.12.2.0\n"
      "7f1c0b000000-7f1c0b021000 rw-p 00000000 00:00 0 \n"
      "no line of it\n"
      "7ffd0b000000-7ffd0b021000 rw-p 00000000 00:00 0                          [stack]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0], (Mapped{0x55d0c0a00000, 0x55d0c0a21000, false, false, "/home/a b/prog"}));
  EXPECT_EQ(all[1], (Mapped{0x7f1c0a000000, 0x7f1c0a021000, false, true, "/usr/lib/libmpich.so.12.2.0"}));
  EXPECT_EQ(all[2].path, "");
  EXPECT_TRUE(all[3].writable);
  EXPECT_EQ(all[3].path, "[stack]");
  for (const char* path : {"/a/libmpi.so.40", "libmpich.so.12", "/a/libmpi_mpifh.so.40", "/x/libpmpi.so.12"})
    EXPECT_TRUE(is_mpi_library(path)) << path;
  for (const char* path : {"/libmpi/a.out", "/usr/lib/libc.so.6", "", "/x/libfabric.so"})
    EXPECT_FALSE(is_mpi_library(path)) << path;
}

}  // namespace
}  // namespace sickbay::ranks
