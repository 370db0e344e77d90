// SPDX-License-Identifier: Apache-2.0
// Echo: packets to a host that its kernel sends back, to see how many get lost (ICMP).  adapters/node does
// it.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "model/tcp_losses.h"

namespace sickbay {

class Echo {
 public:
  virtual ~Echo() = default;
  /// Sends so many at once; what the kernel of this node does not take counts as not sent.
  virtual void send(std::size_t packets) = 0;
  /// Takes what has come back by now; what has not is lost, or on its way.
  virtual EchoCount count() = 0;
};

/// `address` in numbers.  Errors: bad_input (it is none); os (no leave, no route).
using OpenEcho = std::function<Result<std::unique_ptr<Echo>>(const std::string& address)>;

}  // namespace sickbay
