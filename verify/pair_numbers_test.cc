// SPDX-License-Identifier: Apache-2.0
// Counts of both ends of a pair, and what is said of it; and that own connections are seen for real.
#include "pair_numbers.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sickbay::verify {
namespace {

PairNumbers end(double sent, double again, double needless, double stalls = 0, bool own = true) {
  PairNumbers numbers;
  numbers.trips = 1000;
  numbers.sent = sent;
  numbers.sent_again = again;
  numbers.needless = needless;
  numbers.stalls = stalls;
  numbers.own_connections = own ? 1 : 0;
  return numbers;
}

TEST(PairNumbers, WhatWasLost) {
  const struct {
    const char* what;
    PairNumbers clock, other;
    double lost;
    bool slow;
  } rows[] = {
      {"quiet", end(1600, 0, 0), end(1600, 0, 0), 0, false},
      {"1 % of a pair that stalled five times", end(250, 4, 2, 5), end(250, 3, 0), 5, true},
      // The machine was busy: answers were late, and all that was sent again had arrived.
      {"23 of 3254, for nothing", end(1627, 13, 13, 3), end(1627, 10, 10), 0, false},
      {"23 of 3254, all but two for nothing", end(1627, 13, 12, 3), end(1627, 10, 9), 2, false},
      {"23 of 3254, half of it lost", end(1627, 13, 6, 3), end(1627, 10, 5), 12, true},
      {"three in very many", end(40'000, 3, 0, 3), end(40'000, 0, 0), 3, false},
      // The counters of the whole node: other programs' trouble costs this pair no time.
      {"a node's counters, nothing stalled", end(1627, 23, 0, 0, false), end(1627, 0, 0), 0, false},
      {"a node's counters, five stalls", end(250, 9, 0, 5, false), end(250, 3, 0, 0, false), 5, true},
      {"more needless than sent again", end(1000, 2, 9), end(1000, 1, 0), 1, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(lost_segments(row.clock, row.other), row.lost) << row.what;
    const Finding found = judge_pair(row.clock, row.other, Options{}, "n2");
    EXPECT_EQ(found.slow, row.slow) << row.what << ": " << found.detail;
    EXPECT_TRUE(found.ok) << row.what;
  }
}

TEST(PairNumbers, OtherContentsAreWrongWhateverWasLost) {
  PairNumbers clock = end(250, 9, 0, 5);
  clock.wrong_blocks = 2;
  const Finding found = judge_pair(clock, end(250, 0, 0), Options{}, "n2");
  EXPECT_FALSE(found.ok);
  EXPECT_FALSE(found.slow);
}

TEST(PairNumbers, TheBusierEndCounts) {
  PairNumbers busy = end(1600, 0, 0);
  busy.waited = 0.4;
  EXPECT_TRUE(judge_pair(end(1600, 0, 0), busy, Options{}, "n2").busy);
  EXPECT_FALSE(judge_pair(end(1600, 0, 0), end(1600, 0, 0), Options{}, "n2").busy);
}

TEST(OwnConnections, AreCountedAndOthersAreNot) {
  const TcpCounters before = read_own_connections();
  const int door = ::socket(AF_INET, SOCK_STREAM, 0), caller = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(door, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(door, 1), 0);
  ASSERT_EQ(::getsockname(door, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ASSERT_EQ(::connect(caller, reinterpret_cast<sockaddr*>(&address), size), 0);
  const int guest = ::accept(door, nullptr, nullptr);
  for (int i = 0; i < 50; ++i) {
    char byte = 'x';
    ASSERT_EQ(::send(caller, &byte, 1, 0), 1);
    ASSERT_EQ(::recv(guest, &byte, 1, 0), 1);
  }
  const TcpCounters after = read_own_connections();
  EXPECT_EQ(after.connections, before.connections + 2) << "both ends are ours; the door sends nothing";
  EXPECT_GE((after - before).sent, 50);
  EXPECT_EQ((after - before).sent_again, 0);
  for (const int fd : {door, caller, guest}) ::close(fd);
}

}  // namespace
}  // namespace sickbay::verify
