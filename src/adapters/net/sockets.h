// SPDX-License-Identifier: Apache-2.0
// Sockets made by plain system calls rather than by Asio, because Asio 1.74 makes them without close-on-exec,
// and sickbayd starts programs of users.
#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace sickbay {

/// Closes its descriptor at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

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
