// SPDX-License-Identifier: Apache-2.0
// Processes for real: start, find, run, end.  Needs no root.
#include "lab/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace sickbay::lab {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

TEST(ProcessStat, ANameMayHoldAnything) {
  const auto stat = parse_stat("17 (a ) b) S 1 17 17 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 200");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->comm, "a ) b");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 1);
  EXPECT_EQ(stat->start, 4711u);
  for (const char* bad : {"", "17", "17 (x", "17 (x) S", "17 )x( S 1"})
    EXPECT_FALSE(parse_stat(bad).has_value()) << bad;
}

TEST(Process, AnotherStartTimeIsAnotherProcess) {
  const Process self = identify_process(::getpid());
  EXPECT_TRUE(alive(self));
  const Process other{self.pid, self.start + 1};
  EXPECT_FALSE(alive(other));
  EXPECT_FALSE(send_signal(other, SIGKILL));  // or this test would end here
}

TEST(Process, StartsAndEnds) {
  lab::Command c;
  c.argv = {"sleep", "1000"};
  auto process = start_process(c);
  ASSERT_TRUE(process.has_value());
  EXPECT_TRUE(alive(*process));
  EXPECT_TRUE(end_process(*process, milliseconds{1000}));
  EXPECT_FALSE(alive(*process));
}

TEST(Process, AMissingProgramIsAnError) {
  lab::Command c;
  c.argv = {"no-such-program-here"};
  auto process = start_process(c);
  ASSERT_FALSE(process.has_value());
  EXPECT_EQ(process.error().code, ErrorCode::missing_program);
  c.argv = {"/etc/passwd"};  // there, but nothing to run
  EXPECT_FALSE(start_process(c).has_value());
}

TEST(Process, RunsToItsEnd) {
  lab::Command c;
  c.argv = {"cat"};
  c.input = "in and out";
  auto outcome = run_to_end(c, milliseconds{10'000});
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->code, 0);
  EXPECT_EQ(outcome->output, "in and out");
  c.argv = {"sh", "-c", "echo bad luck >&2; exit 3"};
  auto status = run_well(c, milliseconds{10'000});
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().what, HasSubstr("code 3"));
  EXPECT_THAT(status.error().cause, HasSubstr("bad luck"));
}

TEST(Process, IsKilledWhenItTakesTooLong) {
  lab::Command c;
  c.argv = {"sleep", "1000"};
  auto outcome = run_to_end(c, milliseconds{50});
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::timed_out);
}

TEST(Background, BeginsOnlyWhenItWasRecorded) {
  Process seen;
  auto refused = start_background(
      "test", 0,
      [&](const Process& p) -> Status {
        seen = p;
        EXPECT_TRUE(alive(p));  // it exists, and waits
        return fail(ErrorCode::storage_full, "no room for the record");
      },
      [] {
        for (;;) ::pause();
        return 0;
      });
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(wait_gone(seen, milliseconds{5000}));
  auto started = start_background(
      "test", 0, [](const Process&) { return Status{}; },
      [] {
        for (;;) ::pause();
        return 0;
      });
  ASSERT_TRUE(started.has_value());
  EXPECT_TRUE(alive(*started));
  EXPECT_TRUE(end_process(*started, milliseconds{0}));
}

}  // namespace
}  // namespace sickbay::lab
