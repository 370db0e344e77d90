// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace sickbay {
namespace {

constexpr int kBacklog = 512;
constexpr int kTcpBacklog = 4096;  // agents of a cluster that was switched on at once

std::string os_error() { return std::strerror(errno); }

Result<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Error(ErrorCode::bad_input, "no path for a socket: " + quote_for_message(path))
                    .because("it must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes")
                    .remedied_by("set SICKBAY_ROOT to a shorter path"));
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Descriptor unix_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Removes the socket file of a dead server.  Nothing there: fine.
// By connecting: a socket file outlives its server, and only a refusal says that nobody is there.
Status remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat found;
  if (::lstat(path.c_str(), &found) != 0) {
    if (errno == ENOENT) return {};
    return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot look at " + path)
                    .because(os_error()));
  }
  if (!S_ISSOCK(found.st_mode))
    return fail(Error(ErrorCode::conflict, path + " exists and is no socket")
                    .remedied_by("move it away; Sickbay removes nothing but its own sockets"));
  const Descriptor probe = unix_socket();
  if (!probe) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error()));
  // EAGAIN: its queue is full, so it lives.
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
      errno == EAGAIN)
    return fail(
        Error(ErrorCode::conflict, "another server answers on " + path)
            .remedied_by("stop it first (systemctl stop sickbayd); there is one sickbayd per cluster"));
  if (errno != ECONNREFUSED)
    return fail(
        Error(ErrorCode::conflict, "cannot tell whether a server answers on " + path).because(os_error()));
  if (::unlink(path.c_str()) != 0 && errno != ENOENT)
    return fail(Error(ErrorCode::denied, "cannot remove the stale socket " + path).because(os_error()));
  return {};
}

}  // namespace

Result<UnixListener> listen_on_unix(const std::string& path, unsigned mode) {
  const auto address = unix_address(path);
  if (!address) return fail(address.error());
  UnixListener made;
  made.lock = Descriptor(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.lock)
    return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot open " + path + ".lock")
                    .because(os_error())
                    .remedied_by("make its folder, and start as a user who may write there"));
  // Held as long as the server lives: of two that start at once one stops here, before either looks for a
  // stale file.
  if (::flock(made.lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(
        Error(ErrorCode::conflict, "another server holds " + path)
            .because(path + ".lock is locked")
            .remedied_by("stop it first (systemctl stop sickbayd); there is one sickbayd per cluster"));
  if (auto removed = remove_stale(path, *address); !removed) return fail(std::move(removed.error()));

  made.socket = unix_socket();
  if (!made.socket) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error()));
  // Nobody can connect before listen(), so the rights are right from the first connection on.
  if (::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0 ||
      ::chmod(path.c_str(), mode) != 0 || ::listen(made.socket.get(), kBacklog) != 0)
    return fail(Error(errno == EACCES ? ErrorCode::denied : ErrorCode::os, "cannot listen on " + path)
                    .because(os_error()));
  return made;
}

Result<InternetAddress> parse_address(const std::string& address, std::uint16_t port) {
  InternetAddress parsed;
  auto& v4 = reinterpret_cast<sockaddr_in&>(parsed.storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    parsed.size = sizeof v4;
    return parsed;
  }
  auto& v6 = reinterpret_cast<sockaddr_in6&>(parsed.storage);
  parsed.storage = {};
  if (::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    parsed.size = sizeof v6;
    return parsed;
  }
  return fail(Error(ErrorCode::bad_input, "no Internet address: " + quote_for_message(address))
                  .remedied_by("write it in numbers, as 10.0.0.1 or fd00::1"));
}

std::string address_text(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    // (A socket that listens on :: sees callers by IPv4 so: they must be the same address everywhere.)
    if (IN6_IS_ADDR_V4MAPPED(&v6))
      ::inet_ntop(AF_INET, &v6.s6_addr[12], text, sizeof text);
    else
      ::inet_ntop(AF_INET6, &v6, text, sizeof text);
  }
  return text;
}

Result<Descriptor> listen_on_tcp(const std::string& address, std::uint16_t port) {
  auto at = parse_address(address, port);
  if (!at) return fail(std::move(at.error()));
  Descriptor socket(::socket(at->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error(ErrorCode::os, "cannot make a socket").because(os_error()));
  const int on = 1;  // a port that the last server of ours left a moment ago
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), at->get(), at->size) == 0 && ::listen(socket.get(), kTcpBacklog) == 0)
    return socket;
  const std::string place = address + ", port " + std::to_string(port);
  const ErrorCode code = errno == EADDRINUSE ? ErrorCode::conflict
                         : errno == EACCES   ? ErrorCode::denied
                                             : ErrorCode::os;
  return fail(Error(code, "cannot listen on " + place)
                  .because(os_error())
                  .remedied_by("free it, or name another place in 'agent.listen' of the configuration"));
}

std::uint16_t port_of(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return 0;
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(at).sin_port);
}

}  // namespace sickbay
