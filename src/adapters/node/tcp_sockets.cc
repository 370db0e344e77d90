// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/tcp_sockets.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/descriptor.h"

namespace sickbay::node {
namespace {

constexpr unsigned kEstablishedState = 1U << 1;
constexpr std::uint8_t kWithInfo = 1U << (INET_DIAG_INFO - 1);

// Those of one family.
inet_diag_req_v2 of_family(int family) {
  inet_diag_req_v2 request{};
  request.sdiag_family = static_cast<std::uint8_t>(family);
  request.sdiag_protocol = IPPROTO_TCP;
  request.idiag_ext = kWithInfo;
  request.idiag_states = kEstablishedState;
  return request;
}

// Those of both at once, by the older kind of question, which is for all families: the kernel goes through
// its whole table of connections for each question, which takes most of the time.
inet_diag_req of_both() {
  inet_diag_req request{};
  request.idiag_family = AF_INET;
  request.idiag_ext = kWithInfo;
  request.idiag_states = kEstablishedState;
  return request;
}

template <class Request>
bool ask(int fd, int type, const Request& request, const TakeTcpSocket& take) {
  struct {
    nlmsghdr header;
    Request request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = static_cast<std::uint16_t>(type);
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  question.request = request;
  if (::send(fd, &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question)) return false;
  alignas(nlmsghdr) std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    const char* at = buffer.data();
    for (std::size_t left = static_cast<std::size_t>(got); left >= sizeof(nlmsghdr);) {
      nlmsghdr header;
      std::memcpy(&header, at, sizeof header);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > left) return false;
      if (header.nlmsg_type == NLMSG_DONE) return true;
      if (header.nlmsg_type == NLMSG_ERROR) return false;
      const char* const end = at + header.nlmsg_len;
      const char* attribute = at + NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(inet_diag_msg));
      if (attribute > end) return false;
      inet_diag_msg connection;
      std::memcpy(&connection, at + NLMSG_HDRLEN, sizeof connection);
      while (end - attribute >= static_cast<std::ptrdiff_t>(sizeof(rtattr))) {
        rtattr head;
        std::memcpy(&head, attribute, sizeof head);
        if (head.rta_len < sizeof head || head.rta_len > end - attribute) break;
        const std::size_t size = head.rta_len - RTA_LENGTH(0);
        if (head.rta_type == INET_DIAG_INFO) {
          tcp_info info{};
          std::memcpy(&info, attribute + RTA_LENGTH(0), std::min(size, sizeof info));
          take(connection, info, size);
        }
        attribute += std::min<std::ptrdiff_t>(RTA_ALIGN(head.rta_len), end - attribute);
      }
      const std::size_t step = std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), left);
      at += step;
      left -= step;
    }
  }
}

}  // namespace

bool for_each_tcp_socket(const TakeTcpSocket& take) {
  const Descriptor socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return false;
  const timeval limit{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  // (One that does not know the older kind says so at once.)
  if (ask(socket.get(), TCPDIAG_GETSOCK, of_both(), take)) return true;
  for (const int family : {AF_INET, AF_INET6})
    if (!ask(socket.get(), SOCK_DIAG_BY_FAMILY, of_family(family), take)) return false;
  return true;
}

}  // namespace sickbay::node
