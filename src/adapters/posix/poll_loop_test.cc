// SPDX-License-Identifier: Apache-2.0
#include "adapters/posix/poll_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace sickbay {
namespace {

using std::chrono::milliseconds;

TEST(PollLoop, RunsTimersInOrderOfTimeAndThenOfAge) {
  auto loop = make_poll_loop().value();
  const TimePoint start = loop->now();
  std::string order;
  loop->at(start + milliseconds(20), [&] {
    order += 'd';
    EXPECT_GE(loop->now(), start + milliseconds(20));
    loop->stop();
  });
  loop->at(start + milliseconds(10), [&] { order += 'b'; });
  loop->at(start + milliseconds(10), [&] { order += 'c'; });
  const auto gone = loop->at(start + milliseconds(15), [&] { order += 'x'; });
  loop->at(start - milliseconds(5), [&] {
    order += 'a';
    loop->cancel(gone);
    loop->cancel(gone);
    loop->cancel(12345);
  });
  EXPECT_EQ(order, "") << "never from inside at()";
  loop->run();
  EXPECT_EQ(order, "abcd");
}

TEST(PollLoop, ATaskThatPostsItselfStarvesNobody) {
  auto loop = make_poll_loop().value();
  int rounds = 0;
  std::function<void()> again = [&] {
    ++rounds;
    loop->post(again);
  };
  again();
  loop->at(loop->now() + milliseconds(5), [&] { loop->stop(); });
  loop->run();
  EXPECT_GT(rounds, 1);
}

TEST(PollLoop, TakesPostsOfOtherThreads) {
  auto loop = make_poll_loop().value();
  constexpr int kEach = 2000;
  int seen = 0;
  const auto thread = std::this_thread::get_id();
  auto work = [&] {
    for (int i = 0; i < kEach; ++i)
      loop->post([&] {
        EXPECT_EQ(std::this_thread::get_id(), thread);
        if (++seen == 2 * kEach) loop->stop();
      });
  };
  std::thread one(work), two(work);
  loop->run();
  one.join();
  two.join();
  EXPECT_EQ(seen, 2 * kEach);
}

TEST(PollLoop, WatchesUntilUnwatchedAndAtTheEndOfAPipe) {
  auto loop = make_poll_loop().value();
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "ab", 2), 2);
  std::string got;
  loop->watch(ends[0], [&] {
    char c;
    if (::read(ends[0], &c, 1) == 1) {
      got += c;
      if (c == 'b') ::close(ends[1]);
      return;
    }
    got += '.';
    loop->unwatch(ends[0]);
    loop->stop();
  });
  loop->run();
  EXPECT_EQ(got, "ab.");
  ::close(ends[0]);
}

TEST(PollLoop, AWatchDroppedInTheSameRoundIsNotCalled) {
  auto loop = make_poll_loop().value();
  int one[2], two[2];
  ASSERT_EQ(::pipe(one), 0);
  ASSERT_EQ(::pipe(two), 0);
  ASSERT_EQ(::write(one[1], "x", 1), 1);
  ASSERT_EQ(::write(two[1], "x", 1), 1);
  int calls = 0;
  auto first_come = [&] {
    ++calls;
    loop->unwatch(one[0]);
    loop->unwatch(two[0]);
    loop->stop();
  };
  loop->watch(one[0], first_come);
  loop->watch(two[0], first_come);
  loop->run();
  EXPECT_EQ(calls, 1);
  for (int fd : {one[0], one[1], two[0], two[1]}) ::close(fd);
}

TEST(PollLoop, RunsAgainAfterAStop) {
  auto loop = make_poll_loop().value();
  std::vector<int> seen;
  loop->post([&] {
    seen.push_back(1);
    loop->stop();
  });
  loop->post([&] {
    seen.push_back(2);
    loop->stop();
  });
  loop->run();
  EXPECT_EQ(seen, std::vector<int>{1});
  loop->run();
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
}

}  // namespace
}  // namespace sickbay
