// SPDX-License-Identifier: Apache-2.0
// throughput: sends data over TCP to a peer that serves, and measures (src/model/builtin_acts.cc).
//
// The peer counts what it received until the sender closes its half, and answers with that number as text:
// what counts is what arrived.  A peer that does not answer is unknown and no fault: it may be the other's.
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "operation.h"

namespace {

using Clock = std::chrono::steady_clock;
std::vector<char> buffer(std::size_t{1} << 20);

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

bool ready(int fd, short events, double seconds) {
  pollfd one{fd, events, 0};
  return seconds > 0 && ::poll(&one, 1, static_cast<int>(seconds * 1000)) > 0;
}

[[noreturn]] void report(std::int64_t bytes, double seconds) {
  operation::ok(sickbay::Json::object(
                    {{"throughput", static_cast<std::int64_t>(static_cast<double>(bytes) / seconds)}}),
                fmt::format("{} bytes in {:.2f} s", bytes, seconds));
}

[[noreturn]] void serve(int fd, double seconds) {
  if (::listen(fd, 1) != 0) operation::unknown(fmt::format("cannot listen: {}", std::strerror(errno)));
  if (!ready(fd, POLLIN, seconds)) operation::unknown("no peer came");
  const int peer = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
  if (peer < 0) operation::unknown(fmt::format("cannot accept the peer: {}", std::strerror(errno)));
  const auto began = Clock::now();
  std::int64_t bytes = 0;
  while (ready(peer, POLLIN, 10)) {
    const ssize_t n = ::recv(peer, buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    bytes += n;
  }
  const double took = seconds_since(began);
  const std::string count = std::to_string(bytes) + "\n";
  (void)!::send(peer, count.data(), count.size(), MSG_NOSIGNAL);
  ::close(peer);
  if (bytes == 0) operation::unknown("the peer sent nothing");
  report(bytes, took);
}

[[noreturn]] void send_to(int fd, const addrinfo& address, double seconds) {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) != 0)
    operation::unknown(fmt::format("cannot reach the peer: {}", std::strerror(errno)));
  const auto began = Clock::now();
  while (seconds_since(began) < seconds && ready(fd, POLLOUT, 10))
    if (::send(fd, buffer.data(), buffer.size(), MSG_NOSIGNAL) <= 0) break;
  ::shutdown(fd, SHUT_WR);
  std::string count;
  char byte;
  while (count.size() < 20 && ready(fd, POLLIN, 10) && ::recv(fd, &byte, 1, 0) == 1 && byte != '\n')
    count += byte;
  const double took = seconds_since(began);
  const std::int64_t bytes = count.empty() ? 0 : std::strtoll(count.c_str(), nullptr, 10);
  if (bytes <= 0) operation::unknown("the peer did not say what it received");
  report(bytes, took);
}

}  // namespace

int main() {
  const auto asked = operation::request();
  const auto& arguments = asked["arguments"];
  const bool serves = arguments["serve"].as_bool();
  const std::string peer = arguments["peer"].as_string();
  const std::int64_t port = arguments["port"].as_int(6831), seconds = arguments["seconds"].as_int(2);
  if (port < 1 || port > 65535 || seconds < 1 || seconds > 3600)
    operation::unknown("`port` or `seconds` is out of range");
  if (!serves && peer.empty()) operation::unknown("`peer` is empty");
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = serves ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  const int wrong =
      ::getaddrinfo(serves ? nullptr : peer.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (wrong != 0) operation::unknown(fmt::format("no address of '{}': {}", peer, ::gai_strerror(wrong)));
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) operation::unknown(fmt::format("cannot open a socket: {}", std::strerror(errno)));
  if (!serves) send_to(fd, *found, static_cast<double>(seconds));
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0)
    operation::unknown(fmt::format("cannot listen on port {}: {}", port, std::strerror(errno)));
  serve(fd, static_cast<double>(seconds));
}
