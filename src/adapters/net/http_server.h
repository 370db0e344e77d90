// SPDX-License-Identifier: Apache-2.0
// The HTTP server on a Unix socket and on TCP: ports/http.h over Boost.Asio.
//
// Everything a peer can make us hold is bounded by HttpLimits, and every wait for a peer has an end: nobody
// on the host or in the network can make sickbayd grow or stall for others.  The path of the socket is held
// by a lock on PATH.lock, so that two servers that start at once cannot both think the other's socket is
// stale. Source: doc/design/decisions.md 4, 26.
#pragma once
#include <chrono>
#include <memory>

#include "adapters/net/asio_loop.h"
#include "adapters/net/http_request.h"
#include "ports/http.h"

namespace sickbay {

struct HttpLimits {
  // Beyond these: 503 with Retry-After.  A sixteenth is root's alone (http_places.h).
  std::size_t connections = 256;
  std::size_t connections_per_user = 64;      ///< of one uid other than root; over TCP, at one address
  std::size_t tcp_connections = 24'000;       ///< over TCP: one for each of 10,000 agents that wait, and more
  std::size_t connections_per_address = 256;  ///< of one address over TCP: a login host has many users
  /// Of the bodies that have come and are not answered yet, on the Unix socket and as much again over TCP;
  /// beyond: 503 (http_budget.h).
  std::size_t arriving_bytes = 64 << 20;
  std::size_t arriving_bytes_of_peer = 16 << 20;  ///< of one uid other than root, or of one address
  /// Over TCP a longer body comes only behind a credential that holds.
  std::size_t stranger_body_bytes = 64 << 10;
  HttpRequestLimits request;  ///< beyond: 431, 413
  /// Over TCP, from the connection to the first request whose credential holds.
  std::chrono::milliseconds stranger_time{3'000};
  std::chrono::milliseconds header_time{
      10'000};                                  ///< from the first byte of a request to the end of its header
  std::chrono::milliseconds body_time{60'000};  ///< from there to the end of its body
  std::chrono::milliseconds idle_time{60'000};  ///< without a request
  std::chrono::milliseconds send_time{60'000};  ///< in which a peer must read something of its answer
  /// How long a part of a stream over TCP waits for its first words.
  std::chrono::milliseconds part_time{25'000};
};

/// The server on `loop`, which must outlive it.
std::unique_ptr<HttpServer> make_http_server(AsioLoop& loop, HttpLimits limits = {});

}  // namespace sickbay
