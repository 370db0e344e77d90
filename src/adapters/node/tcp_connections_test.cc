// SPDX-License-Identifier: Apache-2.0
// The counts of a real connection, on the loopback device; and packets that a real kernel sends back.
#include "adapters/node/tcp_connections.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "adapters/node/echo.h"

namespace sickbay::node {
namespace {

// Of this process: tests run side by side.
std::string own_address() {
  const auto pid = static_cast<unsigned>(::getpid());
  return fmt::format("127.{}.{}.{}", 93 + (pid >> 16) % 100, pid >> 8 & 0xff, pid & 0xff);
}

// Two ends of a connection on an address that no other test's connections are on.
class Pair {
 public:
  Pair() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    ::inet_pton(AF_INET, own_address().c_str(), &at.sin_addr);
    const int door = ::socket(AF_INET, SOCK_STREAM, 0);
    socklen_t size = sizeof at;
    if (::bind(door, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(door, 1) != 0) return;
    ::getsockname(door, reinterpret_cast<sockaddr*>(&at), &size);
    near_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(near_, reinterpret_cast<sockaddr*>(&at), size) == 0)
      far_ = ::accept(door, nullptr, nullptr);
    ::close(door);
  }
  ~Pair() {
    ::close(near_);
    ::close(far_);
  }
  Pair(const Pair&) = delete;
  bool stands() const { return far_ >= 0; }
  // There and back, so that all of it has been acknowledged.
  void exchange(int times) const {
    char c = 'x';
    for (int i = 0; i < times; ++i) {
      (void)!::write(near_, &c, 1);
      (void)!::read(far_, &c, 1);
      (void)!::write(far_, &c, 1);
      (void)!::read(near_, &c, 1);
    }
  }

 private:
  int near_ = -1, far_ = -1;
};

std::vector<TcpConnection> to_pair(const TcpLook& look) {
  std::vector<TcpConnection> list;
  for (const TcpConnection& one : look.connections)
    if (one.peer == own_address()) list.push_back(one);
  return list;
}

TEST(TcpConnections, CountWhatARealOneSent) {
  const Pair pair;
  ASSERT_TRUE(pair.stands());
  pair.exchange(1);
  const auto before = look_at_connections(true);
  if (!before) GTEST_SKIP() << before.error().line();
  ASSERT_EQ(to_pair(*before).size(), 1u);
  pair.exchange(500);
  const auto after = look_at_connections(true);
  ASSERT_TRUE(after);
  ASSERT_EQ(to_pair(*after).size(), 1u);
  const TcpConnection first = to_pair(*before)[0], second = to_pair(*after)[0];
  EXPECT_EQ(first.id, second.id);
  EXPECT_NE(first.id, 0u);
  EXPECT_GE(second.sent - first.sent, 500);
  EXPECT_LE(second.again - second.needless, 2) << "nothing is lost on this host";
  EXPECT_GT(after->at, before->at);
  const auto others = look_at_connections();
  ASSERT_TRUE(others);
  EXPECT_TRUE(to_pair(*others).empty()) << "what stays here is no link";
}

TEST(TcpConnections, OneThatIsClosedIsGone) {
  {
    const Pair pair;
    pair.exchange(1);
  }
  const auto look = look_at_connections(true);
  if (!look) GTEST_SKIP() << look.error().line();
  EXPECT_TRUE(to_pair(*look).empty());
}

// Asks until all have come back, or a bound is over.
EchoCount counted(Echo& echo) {
  EchoCount count = echo.count();
  for (int i = 0; i < 500 && count.lost > 0; ++i) {
    (void)::poll(nullptr, 0, 10);
    count = echo.count();
  }
  return count;
}

TEST(Echo, ARealKernelSendsItAllBack) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    auto echo = open_echo(address);
    if (!echo) {
      std::puts(echo.error().line().c_str());  // (not root, or no IPv6)
      continue;
    }
    for (int i = 0; i < 20; ++i) {
      (*echo)->send(100);
      (void)(*echo)->count();
    }
    EXPECT_EQ(counted(**echo), (EchoCount{address, 2000, 0}));
  }
}

TEST(Echo, TwoAtOnceDoNotTakeEachOthersPackets) {
  auto one = open_echo("127.0.0.1"), other = open_echo("127.0.0.1");
  if (!one || !other) GTEST_SKIP() << one.error().line();
  (*one)->send(50);
  EXPECT_EQ(counted(**one), (EchoCount{"127.0.0.1", 50, 0}));
  EXPECT_EQ((*other)->count(), (EchoCount{"127.0.0.1", 0, 0}));
}

TEST(Echo, WhatIsNoAddressIsRefused) {
  for (const char* address : {"", "n1", "127.0.0.1; reboot", "300.1.1.1"})
    EXPECT_FALSE(open_echo(address)) << address;
}

}  // namespace
}  // namespace sickbay::node
