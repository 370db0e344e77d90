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
  int listener = -1, client = -1, server = -1;

  /// AF_INET6: of that family, with an address of the other one, which needs none of its own on this machine.
  explicit Connection(int family = AF_INET)
      : listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        client(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 mapped{};
    mapped.sin6_family = AF_INET6;
    ::inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
    const bool is_6 = family == AF_INET6;
    auto* const address = is_6 ? reinterpret_cast<sockaddr*>(&mapped) : reinterpret_cast<sockaddr*>(&place);
    socklen_t size = is_6 ? sizeof mapped : sizeof place;
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
