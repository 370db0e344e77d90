// SPDX-License-Identifier: Apache-2.0
// A connection between who lacks something and a keeper (model/keep_wire.h): each wait has its end, and the
// word of whoever asks is sealed with the secret of the board.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "adapters/net/sockets.h"
#include "base/result.h"
#include "base/time.h"
#include "model/keep_wire.h"

namespace sickbay::ckpt {

/// How long the other side may say nothing.
inline constexpr Micros kKeepPatience = std::chrono::seconds(10);
/// Until a connection stands: a node that has died answers nothing at all.
inline constexpr Micros kConnectPatience = std::chrono::seconds(2);

struct KeepPlace {
  std::string address;
  std::uint16_t port = 0;
  std::string secret;
};

/// One side of a connection.  Errors of all: daemon_away.
class KeepStream {
 public:
  /// A socket that does not block.
  explicit KeepStream(Descriptor socket) : socket_(std::move(socket)) {}
  Status send(std::string_view bytes);
  /// Some bytes, one or more.
  Result<std::size_t> receive(std::span<char> out);
  /// All of `out`.
  Status receive_all(std::span<char> out);
  /// A line without its end.  (Byte by byte: what is behind it is not text.)  All of it within the patience.
  Result<std::string> line();

 private:
  Status wait(short what);
  Descriptor socket_;
};

/// The seal of a request that answers a greeting with `nonce`.
std::string seal_of(const std::string& secret, const std::string& nonce, const KeepRequest& request);

struct KeepReply {
  KeepStream stream;       ///< on which they come
  std::uint64_t size = 0;  ///< bytes
};
/// Asks a keeper; `request` is sealed here.  Errors: not_found: it does not have that; daemon_away: it does
/// not answer; bad_input: it is no keeper.
Result<KeepReply> ask_keeper(const KeepPlace& place, KeepRequest request);
/// The same, where the answer is a text of at most `most` bytes.  Errors: bad_input: it is longer.
Result<std::string> ask_text(const KeepPlace& place, const KeepRequest& request, std::size_t most);

}  // namespace sickbay::ckpt
