// SPDX-License-Identifier: Apache-2.0
// What a keeper of checkpoints (`sickbay-ckpt keep`) and who asks it for a pack say to each other: lines of
// text, and behind the last one the bytes of the pack.
//
//   keeper   sickbay-keep 1 NONCE
//   other    get NUMBER RANK SHA256 SEAL      the pack of that checkpoint and process with that index
//   keeper   ok BYTES   or   none             and ends
//
// SEAL is the HMAC-SHA256 of seal_text() with the secret of the board, which only the job's owner can read:
// so the keeper knows who asks, and that it is asked now.  Who asks believes nothing: he knows the digest. A
// line is taken only if it is, byte for byte, what printing it again gives.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sickbay {

inline constexpr std::size_t kMostKeepLine = 256;  ///< bytes of a line, with its end
inline constexpr std::size_t kKeepHex = 64;        ///< digits of a nonce, a digest and a seal
inline constexpr std::uint64_t kMostKeepBytes = std::uint64_t{1} << 50;  ///< of a pack

struct KeepGreeting {
  std::string nonce;  ///< new for each connection
  friend bool operator==(const KeepGreeting&, const KeepGreeting&) = default;
};
struct KeepRequest {
  std::int64_t number = 0, rank = 0;
  std::string sha256, seal;
  friend bool operator==(const KeepRequest&, const KeepRequest&) = default;
};
struct KeepAnswer {
  std::optional<std::uint64_t> bytes;  ///< none: the keeper does not have it
  friend bool operator==(const KeepAnswer&, const KeepAnswer&) = default;
};

/// Lines without their ends.
std::string format_keep(const KeepGreeting& greeting);
std::string format_keep(const KeepRequest& request);
std::string format_keep(const KeepAnswer& answer);
/// The reverse.  Errors: bad_input.
Result<KeepGreeting> parse_keep_greeting(std::string_view line);
Result<KeepRequest> parse_keep_request(std::string_view line);
Result<KeepAnswer> parse_keep_answer(std::string_view line);

/// What the seal of a request is of; its `seal` is not looked at.
std::string seal_text(const std::string& nonce, const KeepRequest& request);

}  // namespace sickbay
