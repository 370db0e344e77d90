// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/asio_loop.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace sickbay {
namespace {

using std::chrono::milliseconds;

TEST(AsioLoop, RunsTasksAfterTheCallThatPostsThem) {
  const auto loop = make_asio_loop();
  std::string order;
  loop->post([&] {
    loop->post([&] {
      order += "b";
      loop->stop();
    });
    order += "a";
  });
  loop->run();
  EXPECT_EQ(order, "ab");
}

TEST(AsioLoop, OtherThreadsMayPost) {
  const auto loop = make_asio_loop();
  int seen = 0;
  std::thread other([&] {
    for (int i = 0; i < 1000; ++i) loop->post([&] { ++seen; });
    loop->post([&] { loop->stop(); });
  });
  loop->run();
  other.join();
  EXPECT_EQ(seen, 1000);
}

TEST(AsioLoop, TimersRunInTheOrderOfTheirTimes) {
  const auto loop = make_asio_loop();
  const TimePoint start = loop->now();
  std::string order;
  loop->at(start + milliseconds(20), [&] { order += "d"; });
  loop->at(start + milliseconds(10), [&] { order += "b"; });
  loop->at(start + milliseconds(10), [&] { order += "c"; });
  loop->at(start - milliseconds(5), [&] { order += "a"; });
  loop->at(start + milliseconds(30), [&] { loop->stop(); });
  EXPECT_EQ(order, "");  // never from inside the call
  loop->run();
  EXPECT_EQ(order, "abcd");
  EXPECT_GE(loop->now() - start, milliseconds(30));
}

TEST(AsioLoop, ACancelledTimerDoesNotRun) {
  const auto loop = make_asio_loop();
  const TimePoint due = loop->now() + milliseconds(5);
  std::string order;
  Loop::TimerId second = 0;
  loop->at(due, [&] {
    order += "a";
    loop->cancel(second);  // due at the same time
  });
  second = loop->at(due, [&] { order += "b"; });
  loop->cancel(loop->at(due, [&] { order += "c"; }));
  loop->cancel(4711);  // unknown
  loop->at(due + milliseconds(5), [&] { loop->stop(); });
  loop->run();
  EXPECT_EQ(order, "a");
}

TEST(AsioLoop, ATimerThatComesAgainAtOnceStarvesNobody) {
  const auto loop = make_asio_loop();
  int turns = 0;
  std::function<void()> again = [&] {
    ++turns;
    loop->at(kNoTime, again);
  };
  loop->at(kNoTime, again);
  loop->at(loop->now() + milliseconds(5), [&] { loop->stop(); });
  loop->run();
  EXPECT_GT(turns, 1);
}

TEST(AsioLoop, NowNeverGoesBack) {
  const auto loop = make_asio_loop();
  TimePoint last = loop->now();
  for (int i = 0; i < 100000; ++i) {
    const TimePoint now = loop->now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_LT(std::chrono::abs(std::chrono::system_clock::now() - last), std::chrono::seconds(5));
}

TEST(AsioLoop, WatchesADescriptorUntilItIsUnwatched) {
  const auto loop = make_asio_loop();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::string got;
  int calls = 0;
  loop->watch(ends[0], [&] {
    ++calls;
    char byte;  // one at a time: what is left makes it ready again
    const ssize_t n = ::read(ends[0], &byte, 1);
    if (n == 1) {
      got += byte;
    } else {
      loop->unwatch(ends[0]);
      loop->stop();
    }
  });
  loop->post([&] {
    EXPECT_EQ(::write(ends[1], "abc", 3), 3);
    ::close(ends[1]);
  });
  loop->run();
  EXPECT_EQ(got, "abc");
  EXPECT_EQ(calls, 4);                       // the end makes it ready too
  EXPECT_NE(::fcntl(ends[0], F_GETFD), -1);  // still open: it is the caller's
  ::close(ends[0]);
}

TEST(AsioLoop, ARegularFileIsReadyOnceAndNoLoad) {
  const auto loop = make_asio_loop();
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  int calls = 0;
  loop->watch(fd, [&] { ++calls; });
  loop->at(loop->now() + milliseconds(20), [&] { loop->stop(); });
  loop->run();
  EXPECT_EQ(calls, 1);
  loop->unwatch(fd);
  EXPECT_EQ(::close(fd), 0);
}

TEST(AsioLoop, ADescriptorNumberCanComeAgain) {
  const auto loop = make_asio_loop();
  for (int round = 0; round < 3; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    bool ready = false;
    loop->watch(ends[0], [&] {
      ready = true;
      loop->unwatch(ends[0]);
      loop->stop();
    });
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    loop->run();
    EXPECT_TRUE(ready);
    ::close(ends[0]);
    ::close(ends[1]);
  }
}

TEST(AsioLoop, TellsSignals) {
  const auto loop = make_asio_loop();
  std::vector<int> seen;
  ASSERT_TRUE(loop->on_signals({SIGUSR1, SIGUSR2}, [&](int signal) {
    seen.push_back(signal);
    if (seen.size() == 1)
      ::raise(SIGUSR2);
    else
      loop->stop();
  }));
  loop->post([] { ::raise(SIGUSR1); });
  loop->run();
  EXPECT_EQ(seen, (std::vector<int>{SIGUSR1, SIGUSR2}));

  const Status wrong = loop->on_signals({4711}, [](int) {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::os);
}

}  // namespace
}  // namespace sickbay
