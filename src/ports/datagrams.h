// SPDX-License-Identifier: Apache-2.0
// Datagrams: short messages to other hosts that may be lost (UDP).  adapters/net does it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

class Datagrams {
 public:
  virtual ~Datagrams() = default;
  /// Sends `bytes`; what the kernel cannot take now is lost like what the network loses.
  virtual void send(const std::string& address, std::uint16_t port, std::string_view bytes) = 0;
};

/// Takes what comes to `address` (in numbers: "10.0.0.3") and `port`: `come` is called on the loop's thread
/// with each datagram of at most kMostDatagramBytes; longer ones are dropped.  Errors: bad_input (no
/// address), conflict (in use), os.
using OpenDatagrams = std::function<Result<std::unique_ptr<Datagrams>>(
    const std::string& address, std::uint16_t port, std::function<void(std::string_view bytes)> come)>;
inline constexpr std::size_t kMostDatagramBytes = 512;

}  // namespace sickbay
