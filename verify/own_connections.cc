// SPDX-License-Identifier: Apache-2.0
// TCP_INFO of each socket of this process, MPI's among them.  Apart from tcp_counters.cc, for linux/tcp.h and
// netinet/tcp.h both define tcp_info, and only the kernel's has the newer fields.
#include <dirent.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "tcp_counters.h"

namespace sickbay::verify {
namespace {

/// Whether the kernel filled the field that ends at `end`: an older one returns less.
bool has(socklen_t length, std::size_t end) { return length >= end; }

void add_socket(int fd, TcpCounters& sum) {
  tcp_info info{};
  socklen_t length = sizeof info;
  // (Anything but a TCP socket is refused here.)
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return;
  constexpr std::size_t kSegments = offsetof(tcp_info, tcpi_segs_out) + sizeof info.tcpi_segs_out;
  constexpr std::size_t kDsacks = offsetof(tcp_info, tcpi_dsack_dups) + sizeof info.tcpi_dsack_dups;
  if (!has(length, kSegments) || info.tcpi_segs_out == 0) return;
  ++sum.connections;
  sum.sent += info.tcpi_segs_out;
  sum.sent_again += info.tcpi_total_retrans;
  // A network that doubles packets makes more of them than were sent again.
  if (has(length, kDsacks)) sum.needless += std::min(info.tcpi_dsack_dups, info.tcpi_total_retrans);
}

}  // namespace

TcpCounters read_own_connections() {
  TcpCounters sum;
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return sum;
  while (const dirent* entry = ::readdir(folder))
    if (entry->d_name[0] != '.') add_socket(std::atoi(entry->d_name), sum);
  ::closedir(folder);
  return sum;
}

}  // namespace sickbay::verify
