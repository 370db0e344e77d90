// SPDX-License-Identifier: Apache-2.0
// What went over the TCP connections of this machine, as the kernel counts it (sock_diag).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "adapters/node/tree.h"

namespace sickbay::node {

struct TcpBytes {
  bool counted = false;   ///< else an older kernel does not tell the next two
  std::int64_t sent = 0;  ///< and acknowledged by the other side
  std::int64_t received = 0;
  std::int64_t unsent = 0;  ///< or not acknowledged yet
  std::int64_t uid = -1;    ///< of who opened it
};
using TcpBytesByInode = std::map<std::int64_t, TcpBytes>;
/// By inode of the socket, of each open TCP connection of the caller's network namespace since it was opened;
/// nothing where the kernel does not tell.  Costs 2 us a connection, a second at most.
std::optional<TcpBytesByInode> tcp_bytes();

/// The network namespace of a process ("4711", "self"), as the kernel names it; nothing where it has ended,
/// or may not be looked at.
std::optional<std::string> network_of(const Tree& tree, std::string_view process);
/// Whether it is the caller's, of which tcp_bytes() tells.
bool is_our_network(const Tree& tree, const std::optional<std::string>& network);

/// Adds the inodes of the sockets that a process holds; false: none of its open files could be seen.
bool add_held_sockets(const Tree& tree, std::int64_t pid, std::set<std::int64_t>& held);

/// Of those of these connections that are held.
struct Carried {
  std::size_t connections = 0;
  /// Nothing where the kernel does not count one of them: a part would look like all of it.
  std::optional<std::int64_t> sent = 0, received = 0;
};
Carried carried_by(const TcpBytesByInode& connections, const std::set<std::int64_t>& held);

}  // namespace sickbay::node
