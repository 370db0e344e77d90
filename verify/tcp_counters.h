// SPDX-License-Identifier: Apache-2.0
// The kernel's TCP counters of this network namespace: they show a lossy link long before a job times out.
#pragma once
#include <string>

namespace sickbay::verify {

struct TcpCounters {
  double sent = 0;        ///< OutSegs
  double sent_again = 0;  ///< RetransSegs

  friend TcpCounters operator-(const TcpCounters& a, const TcpCounters& b) {
    return {a.sent - b.sent, a.sent_again - b.sent_again};
  }
};

/// Reads `root`/proc/self/net/snmp; zeros where it cannot be read.
TcpCounters read_tcp_counters(const std::string& root = "");

}  // namespace sickbay::verify
