// SPDX-License-Identifier: Apache-2.0
// Which nodes of a run are starved: their processes wait for a processor, and those of the others do not.
//
// Waiting alone says little: on a busy machine all wait.  A node stands apart where its process lost
// kLeastPermille of kLeastSeen, and kTimes as much as the other nodes' (their median, the higher one of an
// even number, so that of two bad ones in three none stands apart).
//
// Compared is with nodes whose processes asked for a processor half as much, at least: one that blocks, since
// it waits for somebody else, waits for no processor, and that says nothing of its node (seen: of a job that
// hung one rank polled, and waited for 80 % on a busy node, and the other slept; the node was called
// starved).  Half of the others must be such.
//
//   kLeastPermille 150: a job is 18 % slower by that, which a limit of time may feel; daemons and the
//     system's own work take below 2 % of a processor, and a second process on the same one takes 500.
//   kLeastSeen 20 s: a nightly job of cron that is over in seconds slows no run; it is also four looks.
//   kTimes 3: the noise of a machine that is shared by all nodes of a run (a lab) differs by less than twice.
//
// Pure.  Source: doc/design/identify.md, "Starved processes".
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/process_times.h"

namespace sickbay::hang {

inline constexpr std::int64_t kLeastPermille = 150;
inline constexpr std::chrono::seconds kLeastSeen{20};
inline constexpr std::int64_t kTimes = 3;

/// A node whose processes lost much of their time.
struct StarvedNode {
  std::string node;
  ProcessTimes times;
  std::int64_t others_permille = -1;  ///< what those of the other nodes lost; -1: there is no other
  bool apart = false;                 ///< much more than those: something is wrong with this node alone
};

/// Of what the nodes told last of a run of `nodes` nodes: those that lost much, who lost most first; of those
/// that do not stand apart only the first.  Nothing is said before half of the other nodes have told of
/// kLeastSeen.
std::vector<StarvedNode> starved_nodes(const std::map<std::string, ProcessTimes>& told, std::size_t nodes);

}  // namespace sickbay::hang
