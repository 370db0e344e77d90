// SPDX-License-Identifier: Apache-2.0
// SwimMessage: what the agents of one job's nodes say to each other about who still answers (engine/swim).
//
// One datagram is one message: a fixed head, up to kMostSwimNews pieces of news, and the seal of
// base/digest/hmac.h over both, by a key that only the agents of the group have.  All numbers are big-endian.
// The bytes come from the network, so that there is one parser, it is bounded, and it takes nothing that its
// printer would not write.  Source: doc/design/detect.md, "Messages".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

using SwimIndex = std::uint16_t;                       ///< a member: its place in the group's list of nodes
inline constexpr std::size_t kMostSwimMembers = 4096;  ///< of a group
inline constexpr std::size_t kMostSwimNews = 6;        ///< of a message

enum class SwimKind : std::uint8_t {
  ping = 1,  ///< do you answer?
  ack = 2,   ///< I do: the answer to a ping, with its nonce
  ask = 3,   ///< does `about` answer you?
  told = 4,  ///< the answer to an ask, with its nonce: it does (`heard`), or does not
};
enum class SwimStanding : std::uint8_t { alive = 0, suspect = 1, silent = 2 };

/// What somebody holds of a member.  Of two the one with the greater incarnation is newer; only the member
/// itself raises it.
struct SwimNews {
  SwimIndex member = 0;
  std::uint32_t incarnation = 0;
  SwimStanding standing = SwimStanding::alive;
  friend bool operator==(const SwimNews&, const SwimNews&) = default;
};

struct SwimMessage {
  SwimKind kind = SwimKind::ping;
  std::uint32_t group = 0;
  SwimIndex from = 0, to = 0;
  std::uint32_t run = 0;    ///< of the sender: another one after each start
  std::uint32_t seq = 0;    ///< grows with each message of a run: none counts twice
  std::uint32_t nonce = 0;  ///< of the question
  SwimIndex about = 0;      ///< of ask and told; else 0
  bool heard = false;       ///< of told
  std::vector<SwimNews> news;
  friend bool operator==(const SwimMessage&, const SwimMessage&) = default;
};

inline constexpr std::size_t kSwimHeadBytes = 26, kSwimNewsBytes = 7;
inline constexpr std::size_t kMostSwimBytes =
    kSwimHeadBytes + kMostSwimNews * kSwimNewsBytes;  ///< without the seal

/// The bytes of a message, without the seal.  At most kMostSwimNews news are written.
std::string format_swim_message(const SwimMessage& message);
/// The reverse.  Errors: bad_input.
Result<SwimMessage> parse_swim_message(std::string_view bytes);

}  // namespace sickbay
