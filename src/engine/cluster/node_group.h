// SPDX-License-Identifier: Apache-2.0
// What engines know of a node, and how the journal tells it: nodes that look alike are one group of an event.
//
// A new fact that an engine asks of Slurm is a member of Node, its line in group_of() and its line in
// node_of(); a test compares the two.  Source: doc/formats/journal.md, nodes_seen.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/node_reason.h"

namespace sickbay {
struct NodeInfo;
}

namespace sickbay::cluster {

/// A node as Slurm showed it last, and as the journal has it.
struct Node {
  static constexpr int kFields = 10;  ///< base/state_archive.h
  std::string state;                  ///< Slurm's words: "IDLE+DRAIN" (model/slurm_state.h reads them)
  bool usable = false;                ///< may get new work
  bool down = false;                  ///< its base state is DOWN
  bool drained = false;               ///< has the flag DRAIN, whoever set it
  std::vector<std::string> partitions;
  /// Of nodes that are drained or down; nothing: an older version did not tell it.
  std::optional<NodeReason> reason;
  // Told only of nodes that an engine looks at closely (Wish::closely), for they differ from node to node and
  // would make a group of each.
  TimePoint boot = kNoTime;  ///< compare by booted_since()
  bool idle = false;         ///< no job has any part of it, and it is not about to boot
  // Not told by Slurm.
  DownBy down_by = DownBy::nobody;  ///< who set it DOWN: the view compares with what was before
  std::int64_t look = 0;            ///< which nodes_seen told of it last, counted by View::looks

  /// Slurm waits for it to boot.
  bool reboot_issued() const;
  /// Its slurmd does not answer, and Slurm has not given it up: a suspect, and no more than that.
  bool silent() const;
  /// In Slurm's state FAIL: it gets no new work, and its jobs are told that it is failing.
  bool failing() const;
  /// Nothing keeps work away from it but a reservation: it is there for the jobs of that.
  bool only_reserved() const;
  friend bool operator==(const Node&, const Node&) = default;
};

/// The group of nodes_seen that `info` belongs to: all but its name.  `closely`: boot and idle, too.
Json group_of(const NodeInfo& info, bool closely);
/// The node that a group tells of.  Total: members that are not there, or of an older version, are as if
/// Slurm had not told them.
Node node_of(const Json& group);
/// Whether the journal must hear that a node known as `before` now looks like `now`.
bool is_news(const Node& before, const Node& now, bool closely);

}  // namespace sickbay::cluster
