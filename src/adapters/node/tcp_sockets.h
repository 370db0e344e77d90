// SPDX-License-Identifier: Apache-2.0
// All TCP connections of the network namespace, as the kernel tells of them (sock_diag, netlink(7)), with
// what it counts of each: what ss(8) shows.  No process is touched.
#pragma once
#include <linux/inet_diag.h>
#include <linux/tcp.h>

#include <cstddef>
#include <functional>

namespace sickbay::node {

/// `size`: so much of `info` this kernel has; the rest is zero.
using TakeTcpSocket =
    std::function<void(const inet_diag_msg& socket, const tcp_info& info, std::size_t size)>;
/// Those that are established, of IPv4 and IPv6.  False where the kernel does not tell.
bool for_each_tcp_socket(const TakeTcpSocket& take);

/// Whether a kernel that has `size` bytes of tcp_info has the member that begins at `offset`.
constexpr bool has_member(std::size_t size, std::size_t offset, std::size_t member) {
  return size >= offset + member;
}

}  // namespace sickbay::node
