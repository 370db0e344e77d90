// SPDX-License-Identifier: Apache-2.0
// Whether the network lost packets of a run, and on whose link.
//
// A loss is seen by who sent, and only there: of two nodes that talk to each other alone it cannot be told
// whether the way out of the one is bad or the way into the other (tried in a lab: both look the same, to the
// last counter).  So pairs are judged, as V's are, and a node is named where others witness for those that it
// talks to:
//   a pair is bad   where one end lost kLeastLost segments to the other, kLeastPermille of them, and
//                   kLeastPerSecond: with less a run is not slower by a tenth;
//   and good        where such a share would have been seen, and a quarter of it was not;
//   an end is well  where it has a good pair with somebody else.
// A node is named that has kLeastBadPairs, more of them than good ones, and that alone of the run has one
// with an end that is well.  All else is told without a name. Ends are the nodes of the run, and hosts
// outside it: storage, and those that both ends of a bad pair were made to ask: packets of ICMP there and
// back.  Of those outside only such count as are well: a host far away loses what all send it.
//
//   kLeastLost 30: noise that no DSACK explains was one or two segments in 90 s, on a machine at load 8.
//   kLeastPermille 2: V's own bound of a link (verify/options.h).
//   kLeastPerSecond: one lost segment in two seconds, since it costs a program 0.2 s at most, TCP's least
//     wait.
//   kLeastEchoes, kLeastEchoesLost: of a host that is asked 2000 times 6 are 0.3 %; a good link loses none.
//
// Pure.  Source: doc/design/identify.md, "Lossy links".
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/tcp_losses.h"

namespace sickbay::hang {

inline constexpr std::chrono::seconds kLeastNetworkSeen{20};
inline constexpr std::int64_t kLeastLost = 30, kLeastLostPermille = 2;
inline constexpr std::int64_t kLeastEchoes = 500, kLeastEchoesLost = 6, kLeastEchoesLostPermille = 3;
inline constexpr std::int64_t kLeastExpected = 8;  ///< losses, had a good pair the share of the worst one
inline constexpr std::size_t kLeastBadPairs = 2;
inline constexpr std::size_t kMostNodesNamed = 8;

struct LossyNetwork {
  std::string node;                ///< whose link it is; "": that cannot be told
  std::vector<std::string> nodes;  ///< sorted: the ends of bad pairs, those that lost most, kMostNodesNamed
  Micros seen{0};
  std::int64_t sent = 0, lost = 0;                ///< on the bad ways between nodes of the run
  std::int64_t others_sent = 0, others_lost = 0;  ///< on all others
  std::int64_t echoes = 0, echoes_lost = 0;       ///< of `node`, with hosts outside the run
  friend bool operator==(const LossyNetwork&, const LossyNetwork&) = default;
};

/// Of what the nodes of a run told last; nothing where none of its pairs is bad.
std::optional<LossyNetwork> lossy_network(const std::map<std::string, TcpLosses>& told);
/// So much was lost that it is worth a word at once: one pair of this node may be bad.
bool may_be_lossy(const TcpLosses& losses);

}  // namespace sickbay::hang
