// SPDX-License-Identifier: Apache-2.0
// Addresses and waiting, for the operations that talk to other hosts from a thread.
#pragma once
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"

namespace sickbay::node {

/// All addresses of a host; may take as long as the name service does.  Errors: not_found.
Result<std::unique_ptr<addrinfo, void (*)(addrinfo*)>> addresses_of(const std::string& host, int port,
                                                                    int type);
/// Waits until `fd` is ready for `events` or broken: true; false when `until` has passed or `cancelled` is
/// set.
bool wait_for(int fd, short events, std::chrono::steady_clock::time_point until,
              const std::atomic<bool>& cancelled);

}  // namespace sickbay::node
