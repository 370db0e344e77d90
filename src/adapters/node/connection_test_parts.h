// SPDX-License-Identifier: Apache-2.0
// A TCP connection of a test with itself, of which the kernel counts the bytes.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sickbay::node {

/// Both ends, and who listened for it; -1 where one could not be had, which fails the test.
struct Connection {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int server = -1;

  Connection() {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = sizeof place;
    EXPECT_EQ(::bind(listener, address, size), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::getsockname(listener, address, &size), 0);
    EXPECT_EQ(::connect(client, address, size), 0);
    server = ::accept(listener, nullptr, nullptr);
    EXPECT_GE(server, 0);
  }
  ~Connection() {
    for (const int fd : {client, server, listener}) ::close(fd);
  }
  Connection(const Connection&) = delete;
};

}  // namespace sickbay::node
