// SPDX-License-Identifier: Apache-2.0
// Glances at real processes.
#include "adapters/ranks/glance.h"

#include <gtest/gtest.h>

#include "adapters/ranks/counters.h"
#include "adapters/ranks/look.h"
#include "adapters/ranks/mapped.h"
#include "adapters/ranks/ranks_test_parts.h"
#include "adapters/ranks/returns.h"

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

// With the calls that a look finds it in; empty where it found none.
GlanceOrder order_by_look(const Target& target) {
  GlanceOrder order = order_of(target);
  for (const std::uint64_t back : backs_of(target)) order.calls.push_back({target.pid(), target.pid(), back});
  return order;
}
bool has_breakpoints(const GlanceOrder& order) {
  return static_cast<bool>(ReturnCounter::at(static_cast<pid_t>(order.calls.at(0).tid), order.calls[0].back,
                                             CountedBy::processor));
}

bool leaves(std::int64_t pid, const GlanceOrder& order) {
  Variables variables(static_cast<pid_t>(pid));
  return leaves_its_calls(pid, order, variables);
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

TEST(Glance, OneThatStaysInACallDoesNotGoOn) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target target(program, "mpi");
    ASSERT_TRUE(target.has_run());
    GlanceOrder order = order_by_look(target);
    order.returning = std::chrono::milliseconds(2);
    EXPECT_FALSE(ever(order)) << program;
    order.count_returns = false;
    EXPECT_FALSE(ever(order)) << program << ": the library's variables change with each poll, not its own";
  }
}

TEST(Glance, OneWhoseCallsReturnGoesOn) {
  const Target target(SB_PLAIN, "mpi-heap");
  ASSERT_TRUE(target.has_run());
  GlanceOrder order = order_by_look(target);
  ASSERT_FALSE(order.calls.empty());
  const bool counts = has_breakpoints(order);
  order.returning = std::chrono::milliseconds(counts ? 5000 : 100);  // a busy machine
  EXPECT_EQ(leaves(target.pid(), order), counts)
      << "where the processor does not count, nobody can say: what it changes lies on the heap";
  order.calls[0].pid = order.calls[0].tid = ::getpid();
  EXPECT_FALSE(leaves(target.pid(), order)) << "another process's call";
}

TEST(Glance, WithoutBreakpointsOneWhoseVariablesChangeGoesOn) {
  const Target counts(SB_PLAIN, "mpi-counts"), heap(SB_PLAIN, "mpi-heap");
  ASSERT_TRUE(counts.has_run() && heap.has_run());
  for (const Target* target : {&counts, &heap}) {
    GlanceOrder order = order_by_look(*target);
    ASSERT_FALSE(order.calls.empty());
    order.count_returns = false;
    order.returning = std::chrono::milliseconds(target == &counts ? 5000 : 100);
    EXPECT_EQ(leaves(target->pid(), order), target == &counts) << "what lies on the heap is not seen";
    order.calls.clear();
    EXPECT_FALSE(leaves(target->pid(), order)) << "no look has seen it in a call";
  }
}

TEST(Glance, ItIsMadeAgainUntilOneCannotSay) {
  using namespace std::chrono_literals;
  const node::Tree tree("/");
  Target target(SB_PLAIN, "mpi-counts");
  ASSERT_TRUE(target.has_run());
  GlanceOrder order = order_by_look(target);
  order.returning = 5000ms;
  EXPECT_EQ(glance_for(tree, order, 1000ms, 0ms), GlancesEnd::over) << "once";
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(glance_for(tree, order, 20ms, 100ms), GlancesEnd::over);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 100ms);
  ASSERT_EQ(::kill(target.pid(), SIGSTOP), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(target.pid(), &status, WUNTRACED), target.pid());
  order.returning = 2ms;
  EXPECT_EQ(glance_for(tree, order, 20ms, 3600s), GlancesEnd::cannot_say);
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
  EXPECT_EQ(all[1],
            (Mapped{0x7f1c0a000000, 0x7f1c0a021000, false, true, "/usr/lib/libmpich.so.12.2.0", 0x1000}));
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
