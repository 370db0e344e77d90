// SPDX-License-Identifier: Apache-2.0
// Sockets made by plain system calls rather than by Asio, because Asio 1.74 makes them without close-on-exec,
// and sickbayd starts programs of users.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"

namespace sickbay {

/// A listening Unix socket and the lock that says whose `path` is.
struct UnixListener {
  Descriptor socket, lock;
};
/// Errors: as HttpServer::listen_unix.
Result<UnixListener> listen_on_unix(const std::string& path, unsigned mode);

/// An Internet address and port, for connect() and bind().
struct InternetAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
/// The numeric `address` "10.0.0.1" or "fd00::1".  Errors: bad_input.
Result<InternetAddress> parse_address(const std::string& address, std::uint16_t port);
/// "10.0.0.1", also for "::ffff:10.0.0.1"; "" for what is no Internet address.
std::string address_text(const sockaddr_storage& address);

/// A listening TCP socket.  Errors: as HttpServer::listen_tcp.
Result<Descriptor> listen_on_tcp(const std::string& address, std::uint16_t port);
/// The port that `socket` has.
std::uint16_t port_of(int socket);

}  // namespace sickbay
