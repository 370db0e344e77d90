// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/tcp_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "adapters/node/clock_time.h"
#include "adapters/node/tcp_sockets.h"

namespace sickbay::node {
namespace {

constexpr std::size_t kMostConnections = 16'384;

std::string address_of(std::uint8_t family, const void* bytes) {
  // An IPv4 address in an IPv6 socket is the same host.
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  char text[INET6_ADDRSTRLEN] = "";
  if (family == AF_INET6 && std::memcmp(bytes, kMapped.data(), kMapped.size()) == 0)
    ::inet_ntop(AF_INET, static_cast<const std::uint8_t*>(bytes) + kMapped.size(), text, sizeof text);
  else
    ::inet_ntop(family, bytes, text, sizeof text);
  return text;
}

// What stays on this host loses nothing, and is no link.
bool stays_here(const TcpConnection& one) {
  return one.own == one.peer || one.peer.starts_with("127.") || one.peer == "::1";
}

}  // namespace

Result<TcpLook> look_at_connections(bool loopback) {
  TcpLook look;
  look.at = TimePoint(clock_time(CLOCK_BOOTTIME));
  const Micros began = clock_time(CLOCK_THREAD_CPUTIME_ID);
  const bool told = for_each_tcp_socket([&](const inet_diag_msg& s, const tcp_info& info, std::size_t size) {
    // An older kernel tells less: without the count of segments with data there is nothing to go by.
    if (!has_member(size, offsetof(tcp_info, tcpi_data_segs_out), sizeof info.tcpi_data_segs_out) ||
        look.connections.size() == kMostConnections)
      return;
    TcpConnection one;
    one.id = std::uint64_t{s.id.idiag_cookie[1]} << 32 | s.id.idiag_cookie[0];
    one.own = address_of(s.idiag_family, s.id.idiag_src);
    one.peer = address_of(s.idiag_family, s.id.idiag_dst);
    if (!loopback && stays_here(one)) return;
    one.sent = info.tcpi_data_segs_out;
    one.again = info.tcpi_total_retrans;
    // Where it does not say what was needless (before 5.0), nothing is known to be lost.
    const bool says = has_member(size, offsetof(tcp_info, tcpi_dsack_dups), sizeof info.tcpi_dsack_dups);
    one.needless = says ? info.tcpi_dsack_dups : one.again;
    look.connections.push_back(std::move(one));
  });
  if (!told) return fail(ErrorCode::os, "this kernel does not tell of TCP connections (sock_diag)");
  look.cost = clock_time(CLOCK_THREAD_CPUTIME_ID) - began;
  return look;
}

}  // namespace sickbay::node
