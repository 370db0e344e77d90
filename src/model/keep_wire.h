// SPDX-License-Identifier: Apache-2.0
// What a keeper of checkpoints (`sickbay-ckpt keep`) and who asks it for a pack say to each other: lines of
// text, and behind the last one the bytes of the pack.
//
//   keeper   sickbay-keep 1 NONCE
//   other    get NUMBER RANK SHA256 SEAL               the pack of that checkpoint and process
//                                                      with that index
//            part NUMBER RANK SHA256 FROM BYTES SEAL   some bytes of it
//            needs NUMBER RANK SHA256 SEAL             it and the packs that it stands on, a line for each
//            head NUMBER SEAL                          of the parity of all packs with that number
//            xor NUMBER FROM BYTES SEAL                some bytes of that parity
//   keeper   ok BYTES   or   none                      and ends
//
// SEAL is the HMAC-SHA256 of seal_text() with the secret of the board, which only the job's owner can read:
// so the keeper knows who asks, and that it is asked now.  Who asks believes nothing: he knows the digest. A
// line is taken only if it is, byte for byte, what printing it again gives.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

inline constexpr std::size_t kMostKeepLine = 256;  ///< bytes of a line, with its end
inline constexpr std::size_t kKeepHex = 64;        ///< digits of a nonce, a digest and a seal
inline constexpr std::uint64_t kMostKeepBytes = std::uint64_t{1} << 50;  ///< of a pack

struct KeepGreeting {
  std::string nonce;  ///< new for each connection
  friend bool operator==(const KeepGreeting&, const KeepGreeting&) = default;
};
enum class KeepWhat : std::uint8_t { pack, part, needs, head, parity };
struct KeepRequest {
  KeepWhat what = KeepWhat::pack;
  std::int64_t number = 0;
  std::int64_t rank = 0;             ///< of a pack
  std::string sha256{};              ///< of a pack
  std::uint64_t from = 0, size = 0;  ///< of some bytes
  std::string seal{};
  friend bool operator==(const KeepRequest&, const KeepRequest&) = default;
};
/// A pack of the process that was asked for.
struct KeepPack {
  std::int64_t number = 0;
  std::uint64_t size = 0;
  std::string sha256;  ///< of its index
  friend bool operator==(const KeepPack&, const KeepPack&) = default;
};
struct KeepAnswer {
  std::optional<std::uint64_t> bytes;  ///< none: the keeper does not have it
  friend bool operator==(const KeepAnswer&, const KeepAnswer&) = default;
};

inline constexpr std::size_t kMostKeepNeeds = 64;  ///< packs that one stands on, itself among them

/// Lines without their ends.
std::string format_keep(const KeepGreeting& greeting);
std::string format_keep(const KeepRequest& request);
std::string format_keep(const KeepAnswer& answer);
/// The reverse.  Errors: bad_input.
Result<KeepGreeting> parse_keep_greeting(std::string_view line);
Result<KeepRequest> parse_keep_request(std::string_view line);
Result<KeepAnswer> parse_keep_answer(std::string_view line);

/// What is behind the answer to `needs`.
std::string format_keep_needs(const std::vector<KeepPack>& packs);
/// The reverse: one line or more.  Errors: bad_input.
Result<std::vector<KeepPack>> parse_keep_needs(std::string_view text);

/// What the seal of a request is of; its `seal` is not looked at.
std::string seal_text(const std::string& nonce, const KeepRequest& request);

}  // namespace sickbay
