// SPDX-License-Identifier: Apache-2.0
// Counting the returns of calls of real processes, by both means, and what is left in them: nothing.
#include "adapters/ranks/returns.h"

#include <gmock/gmock.h>
#include <sys/uio.h>

#include <array>
#include <fstream>

#include "adapters/ranks/ranks_test_parts.h"

namespace sickbay::ranks {
namespace {

using testing::HasSubstr;

std::uint64_t back_of(const Target& target) {
  const auto backs = backs_of(target);
  return backs.empty() ? 0 : backs[0];
}

std::array<std::uint8_t, 16> code_at(const Target& target, std::uint64_t address) {
  std::array<std::uint8_t, 16> code{};
  const iovec here{code.data(), code.size()}, there{reinterpret_cast<void*>(address), code.size()};
  EXPECT_EQ(::process_vm_readv(target.pid(), &here, 1, &there, 1, 0), static_cast<ssize_t>(code.size()));
  return code;
}

bool comes_back(const ReturnCounter& counter) {
  for (int tries = 0; tries < 2000; ++tries) {
    if (counter.count().value_or(0) > 0) return true;
    ::usleep(5000);
  }
  return false;
}

class Returns : public testing::TestWithParam<CountedBy> {
 protected:
  // Both are on each Debian's kernel; a virtual machine may have no breakpoints that fire.
  static bool works(const Result<ReturnCounter>& counter) {
    if (counter) return true;
    EXPECT_EQ(GetParam(), CountedBy::processor) << counter.error().line();
    EXPECT_THAT(counter.error().what, HasSubstr("do not work"));
    return false;
  }
};

TEST_P(Returns, OfACallThatStandsThereIsNone) {
  for (const char* program : {SB_PLAIN, SB_STRIPPED}) {
    const Target target(program, "mpi");
    ASSERT_TRUE(target.has_run());
    const std::uint64_t back = back_of(target);
    auto counter = ReturnCounter::at(target.pid(), back, GetParam());
    if (!works(counter)) continue;
    ::usleep(100'000);
    EXPECT_EQ(counter->count(), 0);
    counter->end();
    EXPECT_TRUE(counter->ended());
    EXPECT_EQ(counter->count(), 0);
  }
}

TEST_P(Returns, TheFirstEndsTheCount) {
  const Target target(SB_PLAIN, "mpi-heap");
  ASSERT_TRUE(target.has_run());
  auto counter = ReturnCounter::at(target.pid(), back_of(target), GetParam());
  if (!works(counter)) return;
  EXPECT_TRUE(comes_back(*counter));
  ::usleep(100'000);  // it comes back 200 times a second
  EXPECT_LE(counter->count().value_or(99), 10);
}

TEST_P(Returns, OfAnotherThreadAreNotCounted) {
  const Target target(SB_PLAIN, "mpi-heap"), other(SB_PLAIN, "mpi");
  ASSERT_TRUE(target.has_run() && other.has_run());
  // The same program: the probe stands in the same file, and not in the other one's memory.
  const std::uint64_t back = back_of(other);
  auto counter = ReturnCounter::at(other.pid(), back, GetParam());
  auto own = ReturnCounter::at(target.pid(), back_of(target), GetParam());
  if (!works(counter)) return;
  ASSERT_TRUE(own);
  EXPECT_TRUE(comes_back(*own));
  EXPECT_EQ(counter->count(), 0);
}

TEST_P(Returns, ItsCodeIsAsItWasWhenTheyEnd) {
  const Target target(SB_PLAIN, "mpi-heap");
  ASSERT_TRUE(target.has_run());
  const std::uint64_t back = back_of(target);
  const auto before = code_at(target, back);
  auto first = ReturnCounter::at(target.pid(), back, GetParam()),
       second = ReturnCounter::at(target.pid(), back, GetParam());
  if (!works(first)) return;
  ASSERT_TRUE(second);
  EXPECT_TRUE(comes_back(*first));
  EXPECT_TRUE(comes_back(*second));
  const std::array<ReturnCounter*, 2> both{&*first, &*second};
  end_counts(both);
  EXPECT_TRUE(first->ended() && second->ended());
  EXPECT_GE(first->count().value_or(0), 1);
  EXPECT_EQ(code_at(target, back), before);
}

// Whoever counts may be killed at any moment: by its own limit of time, or by who is short of memory.
TEST_P(Returns, WhoCountsMayBeKilled) {
  const Target target(SB_PLAIN, "mpi-counts");
  ASSERT_TRUE(target.has_run());
  const std::uint64_t back = back_of(target);
  const auto before = code_at(target, back);
  if (!works(ReturnCounter::at(target.pid(), back, GetParam()))) return;
  for (int turn = 0; turn < 5; ++turn) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto counter = ReturnCounter::at(target.pid(), back, GetParam());
      const char told = counter ? 'y' : 'n';
      if (::write(pipe[1], &told, 1) != 1) ::_exit(2);
      for (;;) ::pause();
    }
    char told = 0;
    EXPECT_EQ(::read(pipe[0], &told, 1), 1);
    EXPECT_EQ(told, 'y');
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(pipe[0]);
    ::close(pipe[1]);
    EXPECT_EQ(code_at(target, back), before);
  }
  // It goes on, and can be counted again.
  auto counter = ReturnCounter::at(target.pid(), back, GetParam());
  ASSERT_TRUE(counter);
  EXPECT_TRUE(comes_back(*counter));
}

INSTANTIATE_TEST_SUITE_P(By, Returns,
                         testing::Values(CountedBy::processor, CountedBy::kernel, CountedBy::either),
                         [](const auto& one) {
                           return one.param == CountedBy::processor ? "Processor"
                                  : one.param == CountedBy::kernel  ? "Kernel"
                                                                    : "Either";
                         });

// A trap within an instruction would be another program.
TEST(ReturnsByProbe, StandOnlyBehindACall) {
  const Target target(SB_PLAIN, "mpi");
  ASSERT_TRUE(target.has_run());
  const std::uint64_t back = back_of(target);
  const auto before = code_at(target, back - 8);
  for (const std::uint64_t wrong : {back - 1, back - 3, back + 1, back + 2}) {
    const auto counter = ReturnCounter::at(target.pid(), wrong, CountedBy::kernel);
    ASSERT_FALSE(counter) << wrong - back;
    EXPECT_EQ(counter.error().what, "no call ends there");
  }
  EXPECT_EQ(code_at(target, back - 8), before);
  const int here = 0;
  const auto nowhere =
      ReturnCounter::at(::gettid(), reinterpret_cast<std::uint64_t>(&here), CountedBy::kernel);
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().what, "its code lies in no file");
}

TEST(ReturnsByProbe, OfWhoHasEnded) {
  Target target(SB_PLAIN, "mpi");
  ASSERT_TRUE(target.has_run());
  const std::uint64_t back = back_of(target);
  const pid_t pid = target.pid();
  auto counter = ReturnCounter::at(pid, back, CountedBy::either);
  ASSERT_TRUE(counter);
  target.end();
  EXPECT_EQ(counter->count(), 0);
  EXPECT_FALSE(ReturnCounter::at(pid, back, CountedBy::either));
}

}  // namespace
}  // namespace sickbay::ranks
