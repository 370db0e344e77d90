// SPDX-License-Identifier: Apache-2.0
// NonstopServer: clients of the nonstop protocol, each with the one message that it sends.
//
// adapters/net serves them on TCP; who a client is, and what his message says, is the service's matter
// (service/nonstop).  What a client can make us hold, and how long, is bounded there: who stalls, sends half
// a message or garbage, or never reads, harms nobody else.  All calls and callbacks are on the loop's thread.
// Source: doc/formats/nonstop.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/loop.h"

namespace sickbay {

/// The way back to one client.  Dropped without an answer it closes the connection.
class NonstopPeer {
 public:
  /// Bytes of a stream that a client may leave unread before it is cut.
  static constexpr std::size_t kUnsentBound = std::size_t{1} << 20;

  virtual ~NonstopPeer() = default;
  /// The client's address in numbers, "10.0.0.7".
  virtual const std::string& address() const = 0;
  /// Sends the one answer (a frame is made of `body`), and closes when it has gone out.  Once.
  virtual void answer(std::string_view body) = 0;
  /// Sends `body` and leaves the connection open, until end().  False: the client is gone, or does not read,
  /// and was cut.
  virtual bool write(std::string_view body) = 0;
  /// Closes when what was written has gone out.
  virtual void end() = 0;
  /// Calls `closed` once when nothing more can reach the client; posted at once if that is so already.
  virtual void on_close(std::function<void()> closed) = 0;
  virtual bool is_open() const = 0;
};

class NonstopServer {
 public:
  using Handler = std::function<void(std::string body, std::shared_ptr<NonstopPeer> peer)>;
  struct Times {
    std::chrono::seconds read{10};   ///< from the connection to the end of the message
    std::chrono::seconds write{10};  ///< in which a client must read something of what is sent
  };
  struct Counts {
    std::size_t connections = 0;  ///< at present
    std::uint64_t taken = 0;      ///< since the start, as the others
    std::uint64_t refused = 0;    ///< since there were too many, or too many bytes
    std::uint64_t late = 0;       ///< messages that did not come whole in time
    std::uint64_t garbled = 0;    ///< and those that are none
  };
  virtual ~NonstopServer() = default;

  /// Listens at a numeric `address` ("0.0.0.0", "::", "10.0.0.1"), and no more where it listened before.  The
  /// port that was taken comes back: `port` 0 lets the kernel choose.  Errors, after which it listens where
  /// it did: bad_input (no address), conflict (somebody listens there), denied, os.
  virtual Result<std::uint16_t> listen(const std::string& address, std::uint16_t port) = 0;
  /// Who answers.  Set it before the first client can come.
  virtual void on_message(Handler handler) = 0;
  virtual void set_times(Times times) = 0;
  /// Connects to a client that wants to be called, sends `bytes`, and closes.  Errors: os (nobody listens
  /// there, or it cannot be reached), timed_out, bad_input (no address).
  virtual void call(const std::string& address, std::uint16_t port, std::string bytes, Done<bool> done) = 0;
  virtual Counts counts() const = 0;
  /// Stops listening, and closes every connection.
  virtual void close() = 0;
};

}  // namespace sickbay
