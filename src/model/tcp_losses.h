// SPDX-License-Identifier: Apache-2.0
// What a node's TCP connections lost on the way to each other host, as an agent tells sickbayd.
//
// A segment is lost that was sent again and that the other end did not have already: its duplicates it
// acknowledges as such (DSACK, RFC 2883), so that a host which answers late, and makes its peer send again,
// loses nothing.  Seen: 116 of 638,000 segments sent again on a busy machine, and all 116 had arrived.
//
// Only the sender sees a loss, and it does not see where: its own way out, or the other's way in.  So what is
// told is told by the other end's address, with the addresses by which others know the node itself; sickbayd
// puts them together (engine/hang/lossy.h).  Source: doc/design/identify.md, "Lossy links".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace sickbay {

/// The kernel's counts of one connection, since it was opened.
struct TcpConnection {
  std::uint64_t id = 0;                  ///< the kernel's cookie: never given twice
  std::string own, peer;                 ///< addresses, in numbers and without ports
  std::int64_t sent = 0;                 ///< segments with data; those without are never sent again
  std::int64_t again = 0, needless = 0;  ///< of them sent again; of those, had arrived the first time
};
/// One look at all connections of a node that lead to another host.
struct TcpLook {
  TimePoint at = kNoTime;  ///< since the node's start
  std::vector<TcpConnection> connections;
  Micros cost{0};  ///< processor time of the look
};

/// What was sent to one address, and lost.
struct PeerLosses {
  std::string address;
  std::int64_t sent = 0, lost = 0;
  friend bool operator==(const PeerLosses&, const PeerLosses&) = default;
};
/// Of packets that were sent to a host so that it sends them back.
struct EchoCount {
  std::string address;
  std::int64_t sent = 0, lost = 0;
  friend bool operator==(const EchoCount&, const EchoCount&) = default;
};

struct TcpLosses {
  Micros seen{0};                 ///< so long was looked
  std::vector<std::string> own;   ///< addresses of the node
  std::vector<PeerLosses> peers;  ///< those that lost most first, then those that were sent most
  std::vector<EchoCount> echoes;  ///< where sickbayd asked for them
  std::int64_t lost() const;      ///< to all that are told
  friend bool operator==(const TcpLosses&, const TcpLosses&) = default;
};
inline constexpr std::size_t kMostPeersTold = 24, kFewPeersTold = 8, kMostOwnTold = 8, kMostEchoes = 4;

/// An address in numbers, IPv4 or IPv6, as the kernel writes it; others are none.
bool is_address(std::string_view text);

Json to_json(const TcpLosses& losses);
/// Errors: bad_input, where the time or the list is missing.
Result<TcpLosses> read_tcp_losses(const Json& json);

}  // namespace sickbay
