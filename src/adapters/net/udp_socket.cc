// SPDX-License-Identifier: Apache-2.0
#include "adapters/net/udp_socket.h"

#include <cerrno>
#include <cstring>
#include <map>

#include "adapters/net/sockets.h"

namespace sickbay {
namespace {

constexpr int kAtOnce = 64;  // datagrams read before others have their turn

class UdpSocket final : public Datagrams {
 public:
  UdpSocket(Loop& loop, Descriptor socket, std::function<void(std::string_view)> come)
      : loop_(loop), socket_(std::move(socket)), come_(std::move(come)) {
    loop_.watch(socket_.get(), [this] { read(); });
  }
  ~UdpSocket() override { loop_.unwatch(socket_.get()); }

  void send(const std::string& address, std::uint16_t port, std::string_view bytes) override {
    auto known = addresses_.find({address, port});
    if (known == addresses_.end()) {
      const auto parsed = parse_address(address, port);
      if (!parsed) return;
      if (addresses_.size() > kMostAddresses) addresses_.clear();
      known = addresses_.emplace(std::pair(address, port), *parsed).first;
    }
    (void)::sendto(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                   known->second.get(), known->second.size);
  }

 private:
  static constexpr std::size_t kMostAddresses = 8192;

  void read() {
    // One byte more than the longest: what fills it is too long, and recv() cuts the rest off.
    char bytes[kMostDatagramBytes + 1];
    for (int i = 0; i < kAtOnce; ++i) {
      const ssize_t n = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      // (An error of an earlier send, a port that nobody has say, is told here and means nothing.)
      if (n < 0 && (errno == ECONNREFUSED || errno == EHOSTUNREACH || errno == ENETUNREACH)) continue;
      if (n < 0) return;
      if (static_cast<std::size_t>(n) > kMostDatagramBytes) continue;
      come_({bytes, static_cast<std::size_t>(n)});
    }
  }

  Loop& loop_;
  Descriptor socket_;
  std::function<void(std::string_view)> come_;
  std::map<std::pair<std::string, std::uint16_t>, InternetAddress> addresses_;
};

}  // namespace

OpenDatagrams udp_on(Loop& loop) {
  return [&loop](const std::string& address, std::uint16_t port,
                 std::function<void(std::string_view)> come) -> Result<std::unique_ptr<Datagrams>> {
    auto at = parse_address(address, port);
    if (!at) return fail(std::move(at.error()));
    Descriptor socket(::socket(at->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return fail(Error(ErrorCode::os, "cannot make a UDP socket").because(std::strerror(errno)));
    if (::bind(socket.get(), at->get(), at->size) != 0)
      return fail(
          Error(errno == EADDRINUSE ? ErrorCode::conflict : ErrorCode::os,
                "cannot take UDP port " + std::to_string(port) + " of " + address)
              .because(std::strerror(errno))
              .remedied_by("set another port ('detect.port' in sickbay.json) where something else has it"));
    return std::make_unique<UdpSocket>(loop, std::move(socket), std::move(come));
  };
}

}  // namespace sickbay
