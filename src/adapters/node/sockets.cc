// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/sockets.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace sickbay::node {

Result<std::unique_ptr<addrinfo, void (*)(addrinfo*)>> addresses_of(const std::string& host, int port,
                                                                    int type) {
  addrinfo wanted{};
  wanted.ai_socktype = type;
  // The port is a number: no table of services need be asked.
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int wrong = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
  if (wrong != 0)
    return fail(ErrorCode::not_found,
                fmt::format("no address of {}: {}", quote_for_message(host), ::gai_strerror(wrong)));
  return std::unique_ptr<addrinfo, void (*)(addrinfo*)>(list, ::freeaddrinfo);
}

bool wait_for(int fd, short events, std::chrono::steady_clock::time_point until,
              const std::atomic<bool>& cancelled) {
  using std::chrono::milliseconds;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left <= 0 || cancelled) return false;
    pollfd one{fd, events, 0};
    // Short turns, so that whoever gave us up is noticed.
    if (::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left, 200))) > 0) return true;
  }
}

}  // namespace sickbay::node
