// SPDX-License-Identifier: Apache-2.0
// The kernel's TCP counters: they show a lossy link long before a job times out.
//
// Best are those of this process' own connections, since they count nothing of what else the node sends, and
// they tell which segments were sent again for nothing: the other end says so (DSACK, RFC 2883).  A busy host
// answers late, its peer sends again, and not one packet was lost.  Where MPI keeps its connections to itself
// (another process, no TCP) there are those of the network namespace.
#pragma once
#include <string>

namespace sickbay::verify {

struct TcpCounters {
  double sent = 0;        ///< segments out
  double sent_again = 0;  ///< of them retransmissions
  double needless = 0;    ///< of those, had arrived the first time; known of own connections only
  int connections = 0;    ///< own ones that were counted; 0: all of the namespace

  friend TcpCounters operator-(const TcpCounters& a, const TcpCounters& b) {
    return {a.sent - b.sent, a.sent_again - b.sent_again, a.needless - b.needless, a.connections};
  }
};

/// Sums over the open TCP sockets of this process (TCP_INFO).  `connections` is 0 where it has none.
TcpCounters read_own_connections();
/// Reads `root`/proc/self/net/snmp; zeros where it cannot be read.
TcpCounters read_tcp_counters(const std::string& root = "");

}  // namespace sickbay::verify
