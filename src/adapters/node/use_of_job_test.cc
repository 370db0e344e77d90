// SPDX-License-Identifier: Apache-2.0
// What went over a connection, by the kernel of this machine.  (Whose connections are a job's: node_test.cc.)
#include "adapters/node/use_of_job.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "adapters/node/connection_test_parts.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

std::int64_t inode_of(int fd) {
  struct stat about {};
  ::fstat(fd, &about);
  return static_cast<std::int64_t>(about.st_ino);
}

TEST(TcpBytes, AreCountedByConnection) {
  const Connection connection;
  const int client = connection.client, server = connection.server;
  ASSERT_GE(server, 0);
  const std::string sent(100'000, 'x'), answered(17, 'y');
  ASSERT_EQ(::send(client, sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
  std::string got(sent.size(), ' ');
  ASSERT_EQ(::recv(server, got.data(), got.size(), MSG_WAITALL), static_cast<ssize_t>(got.size()));
  ASSERT_EQ(::send(server, answered.data(), answered.size(), 0), static_cast<ssize_t>(answered.size()));
  ASSERT_EQ(::recv(client, got.data(), answered.size(), MSG_WAITALL), static_cast<ssize_t>(answered.size()));
  // (The last acknowledgement may be on its way: the answer came behind that of what was sent.)
  const auto all = tcp_bytes();
  if (!all) GTEST_SKIP() << "this kernel does not tell (sock_diag)";
  ASSERT_TRUE(all->contains(inode_of(client)));
  ASSERT_TRUE(all->contains(inode_of(server)));
  // (The kernel counts the packet that opened the connection as one byte.)
  EXPECT_NEAR(static_cast<double>(all->at(inode_of(client)).sent), 100'000, 1);
  EXPECT_EQ(all->at(inode_of(client)).received, 17);
  EXPECT_EQ(all->at(inode_of(server)).received, 100'000);
  EXPECT_FALSE(all->contains(inode_of(connection.listener))) << "it is no connection";
}

// By one question, each once.
TEST(TcpBytes, AreOfBothFamilies) {
  const int has_6 = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (has_6 < 0) return;  // this machine has one family
  ::close(has_6);
  const Connection four, six(AF_INET6);
  for (const Connection* one : {&four, &six}) {
    ASSERT_EQ(::send(one->client, "word", 4, 0), 4);
    char got[4];
    ASSERT_EQ(::recv(one->server, got, 4, MSG_WAITALL), 4);
  }
  const auto all = tcp_bytes();
  if (!all) GTEST_SKIP() << "this kernel does not tell (sock_diag)";
  for (const Connection* one : {&four, &six}) {
    ASSERT_TRUE(all->contains(inode_of(one->server)));
    EXPECT_EQ(all->at(inode_of(one->server)).received, 4);
    EXPECT_EQ(all->at(inode_of(one->server)).uid, ::getuid());
  }
}

TEST(TcpBytes, AProcessHoldsItsSockets) {
  const Tree tree("/");
  const Connection connection;
  std::set<std::int64_t> held;
  EXPECT_TRUE(add_held_sockets(tree, ::getpid(), held));
  EXPECT_TRUE(held.contains(inode_of(connection.client)));
  EXPECT_TRUE(held.contains(inode_of(connection.listener))) << "also what is no connection";
  EXPECT_FALSE(add_held_sockets(tree, std::int64_t{1} << 40, held)) << "there is no such process";
}

TEST(TcpBytes, TheSumIsOfWhatIsHeldAndOfNothingLess) {
  TcpBytesByInode all;
  all[1] = {true, 10, 100, 0, 0};
  all[2] = {true, 20, 200, 0, 0};
  all[3] = {false, 0, 0, 0, 0};  // the kernel tells that it is there, and no more
  all[4] = {true, kMostInteger, 1, 0, 0};
  const struct {
    std::set<std::int64_t> held;
    std::size_t connections;
    std::optional<std::int64_t> sent, received;
  } rows[] = {
      {{}, 0, 0, 0},    {{77}, 0, 0, 0},     {{1}, 1, 10, 100},      {{1, 2, 77}, 2, 30, 300},
      {{3}, 1, {}, {}}, {{1, 3}, 2, {}, {}}, {{2, 3, 4}, 3, {}, {}}, {{1, 4}, 2, kMostInteger, 101},
  };
  for (const auto& row : rows) {
    const Carried sum = carried_by(all, row.held);
    EXPECT_EQ(sum.connections, row.connections);
    EXPECT_EQ(sum.sent, row.sent) << "of " << row.held.size();
    EXPECT_EQ(sum.received, row.received) << "of " << row.held.size();
  }
}

}  // namespace
}  // namespace sickbay::node
