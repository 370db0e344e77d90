// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/echo.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/text.h"

namespace sickbay::node {
namespace {

constexpr int kBuffer = 1 << 20;
constexpr std::size_t kPayload = 56;  // as ping(8)
constexpr std::size_t kMostPackets = 0xffff;

// Type, code, checksum, identifier and sequence: the head is the same for both versions of IP.
struct Packet {
  std::uint8_t type = 0, code = 0;
  std::uint16_t checksum = 0, id = 0, sequence = 0;
  std::array<std::uint8_t, kPayload> payload{};
};
static_assert(sizeof(Packet) == 8 + kPayload);

std::uint16_t checksum_of(const Packet& packet) {
  std::array<std::uint16_t, sizeof(Packet) / 2> words{};
  std::memcpy(words.data(), &packet, sizeof packet);
  std::uint32_t sum = 0;
  for (const std::uint16_t word : words) sum += word;
  sum = (sum & 0xffff) + (sum >> 16);
  sum += sum >> 16;
  return static_cast<std::uint16_t>(~sum);
}

class IcmpEcho final : public Echo {
 public:
  IcmpEcho(std::string address, Descriptor fd, bool six)
      : address_(std::move(address)), fd_(std::move(fd)), six_(six) {
    (void)::getrandom(&id_, sizeof id_, 0);
  }

  void send(std::size_t packets) override {
    for (; packets > 0 && came_.size() < kMostPackets; --packets) {
      Packet packet;
      packet.type = six_ ? ICMP6_ECHO_REQUEST : ICMP_ECHO;
      packet.id = id_;
      packet.sequence = htons(static_cast<std::uint16_t>(came_.size()));
      if (!six_) packet.checksum = checksum_of(packet);  // (of version 6 the kernel makes it)
      if (::send(fd_.get(), &packet, sizeof packet, MSG_DONTWAIT) == sizeof packet) came_.push_back(false);
    }
  }

  EchoCount count() override {
    std::array<std::uint8_t, 2048> bytes;
    for (;;) {
      const ssize_t size = ::recv(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      // (An error that the network told of is taken by that; the next packet may be behind it.)
      if (size < 0 && (errno == EINTR || errno == ECONNREFUSED || errno == EHOSTUNREACH)) continue;
      if (size < 0) break;
      note(bytes.data(), static_cast<std::size_t>(size));
    }
    EchoCount count{address_, static_cast<std::int64_t>(came_.size()), 0};
    for (const bool came : came_) count.lost += came ? 0 : 1;
    return count;
  }

 private:
  void note(const std::uint8_t* bytes, std::size_t size) {
    // Version 4 has the head of IP before it.
    const std::size_t head = six_ || size == 0 ? 0 : std::size_t{4} * (bytes[0] & 0x0f);
    Packet packet;
    if (size < head + 8) return;
    std::memcpy(&packet, bytes + head, std::min(sizeof packet, size - head));
    if (packet.type != (six_ ? ICMP6_ECHO_REPLY : ICMP_ECHOREPLY) || packet.id != id_) return;
    if (const std::size_t n = ntohs(packet.sequence); n < came_.size()) came_[n] = true;
  }

  const std::string address_;
  const Descriptor fd_;
  const bool six_;
  std::uint16_t id_ = 0;
  std::vector<bool> came_;  ///< by sequence
};

}  // namespace

Result<std::unique_ptr<Echo>> open_echo(const std::string& address) {
  sockaddr_in four{};
  sockaddr_in6 six{};
  four.sin_family = AF_INET;
  six.sin6_family = AF_INET6;
  const bool is_four = ::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1;
  if (!is_four && ::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) != 1)
    return fail(ErrorCode::bad_input, quote_for_message(address) + " is no address in numbers");
  Descriptor fd(is_four ? ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP)
                        : ::socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6));
  const auto failed = [&](const char* what) {
    const std::string why = std::strerror(errno);
    return fail(Error(ErrorCode::os, fmt::format("cannot {} for packets to {}", what, address)).because(why));
  };
  if (!fd) return failed("open a socket");
  (void)::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
  // Connected, so that others' packets do not fill the buffer.
  const int done = is_four ? ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&four), sizeof four)
                           : ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (done != 0) return failed("take a socket");
  return std::make_unique<IcmpEcho>(address, std::move(fd), !is_four);
}

}  // namespace sickbay::node
