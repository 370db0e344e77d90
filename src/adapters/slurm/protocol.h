// SPDX-License-Identifier: Apache-2.0
// The language between sickbayd and its child sickbay-slurm: frames of JSON over one socket pair.
//
// A frame is a 4-byte big-endian length and that many bytes of JSON.  One request {id, call, args} gets one
// reply {id, ok | error, took_us}, in order.  Both ends are ours and start together, so there is no version;
// the parsing is strict all the same, because what the child says holds text from users (comments, reasons).
// The calls and their fields: doc/formats/slurm-child.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// The most bytes one frame may hold.  A full look at 10,000 nodes takes about 3 MB.
inline constexpr std::size_t kMaxFrame = std::size_t{64} << 20;

struct Request {
  std::int64_t id = 0;  ///< from 1, rising; the reply bears it
  std::string call;     ///< "refresh", "submit", ...
  Json args;

  Json to_json() const;
  static Result<Request> from_json(const Json& json);  ///< Errors: bad_input
  friend bool operator==(const Request&, const Request&) = default;
};

struct Reply {
  std::int64_t id = 0;
  Result<Json> outcome;
  std::int64_t took_us = 0;  ///< in the child, from the request's last byte to the answer

  Json to_json() const;
  static Result<Reply> from_json(const Json& json);  ///< Errors: bad_input
};

/// `json` as one frame.
std::string frame(const Json& json);

/// Puts frames together from bytes as they come.
class FrameReader {
 public:
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole frame, or nothing until more bytes come.
  /// Errors: bad_input for a length over kMaxFrame or a text that is no JSON; the stream is then lost.
  Result<std::optional<Json>> next();
  std::size_t buffered() const { return buffer_.size() - begin_; }

 private:
  std::string buffer_;
  std::size_t begin_ = 0;  ///< first byte not yet given out
};

}  // namespace sickbay::slurm
