// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of the node's TCP connections: all that are open and lead to another host.
//
// One question to the kernel (sock_diag, netlink(7)), as ss(8) asks it: no process is touched, and whose
// connections they are does not matter, for it is the node's link that is looked at.
#pragma once
#include "base/result.h"
#include "model/tcp_losses.h"

namespace sickbay::node {

/// Of the network namespace of the caller; with `loopback` also those that stay on this host.  Errors: os,
/// where the kernel does not tell (it lacks inet_diag, or is older than 4.6).
Result<TcpLook> look_at_connections(bool loopback = false);

}  // namespace sickbay::node
