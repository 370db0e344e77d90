// SPDX-License-Identifier: Apache-2.0
// NodeChanges: drains and lifted drains that wait for their turn go to sickbay-slurm together.
//
// One by one, ten a second, 5,000 nodes that turn sick at once would take nine minutes to leave, and most
// would be refused as waiting too long.  Whatever waits when the call starts is in it, up to a bound, in the
// order in which it came; each has an answer of its own.  One call waits in the lane at a time.  Source:
// doc/design/decisions.md 26.
#pragma once
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ports/loop.h"

namespace sickbay::slurm {

class NodeChanges {
 public:
  /// Has `start` called when it is the turn of a call, or `refuse`; false: neither will be, the queue is
  /// full.
  using Queue = std::function<bool(std::function<void()> start, std::function<void(Error)> refuse)>;
  /// Makes the call `change_nodes` with these arguments.
  using Call = std::function<void(Json args, std::function<void(Result<Json>)> then)>;
  NodeChanges(Queue queue, Call call) : queue_(std::move(queue)), call_(std::move(call)) {}

  /// `change`: "drain" with {node, reason}, or "undrain" with {node, prefix}.  `done` never runs inside.
  /// Errors: those of the call of that name, busy, slurm_away, timed_out.
  void add(std::string change, Json args, Done<bool> done);
  std::size_t waiting() const { return waiting_.size(); }

  static constexpr std::size_t kMostAtOnce = 250;       ///< the child takes half a second for these
  static constexpr std::size_t kMostWaiting = 100'000;  ///< a change of each node of the largest cluster

 private:
  struct Change {
    Json args;
    Done<bool> done;
  };
  void ask_for_turn();
  void start();
  void answered(std::vector<Change> sent, Result<Json> outcome);
  void refuse_all(const Error& error);

  const Queue queue_;
  const Call call_;
  std::deque<Change> waiting_;
  bool asked_ = false;  ///< for a turn
};

}  // namespace sickbay::slurm
