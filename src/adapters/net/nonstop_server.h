// SPDX-License-Identifier: Apache-2.0
// Clients of the nonstop protocol on TCP: ports/nonstop_server.h over Boost.Asio.
//
// Nobody has said who he is before his message is whole, so all that a client can hold until then is bounded
// by NonstopLimits: connections, bytes and one time for the whole message, not for each piece of it.  Where
// there are too many connections, the one that has owed its message longest goes; a client that sends what it
// has to say is served among any number of those that do not.
#pragma once
#include <chrono>
#include <memory>

#include "adapters/net/asio_loop.h"
#include "ports/nonstop_server.h"

namespace sickbay {

struct NonstopLimits {
  std::size_t connections = 8192;
  std::size_t connections_per_address = 2048;  ///< a login host has many users
  /// Of messages that are not whole or not answered yet; and of those of one address.
  std::size_t arriving_bytes = 32 << 20, arriving_bytes_of_address = 8 << 20;
  std::chrono::milliseconds linger_time{2000};  ///< for a client that still sends after its answer
  std::chrono::milliseconds call_time{5000};    ///< to connect to a client that wants to be called
  std::size_t calls = 256;                      ///< at a time; beyond: busy
};

/// On `loop`, which must outlive it.
std::unique_ptr<NonstopServer> make_nonstop_server(AsioLoop& loop, NonstopLimits limits = {});

}  // namespace sickbay
