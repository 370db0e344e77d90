// SPDX-License-Identifier: Apache-2.0
// LeaseDesk: a sickbayd's way to the nodes that witness.
//
// Agents ask, sickbayd answers (decisions.md 6): so what sickbayd asks of a witness is the answer to a poll
// of its agent, and what the agent answers is in its next poll.  An ask that waits for a poll counts from
// when it was made; a later one takes its place.  Source: doc/design/standby.md, "The lease".
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/lease_message.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay {

class LeaseDesk {
 public:
  static constexpr std::chrono::seconds kHold{20};  ///< a poll, where there is nothing to ask
  using Heard = std::function<void(std::size_t witness, const LeaseAnswer& answer)>;

  /// `witnesses`: Slurm's names of their nodes.
  LeaseDesk(Loop& loop, std::vector<std::string> witnesses, Heard heard);

  void hand_out(std::size_t witness, LeaseAsk ask);
  /// A poll of the agent of `node`, which was checked: {answer: to the last ask, or null}.  It gets {ask}, or
  /// {} when there was none for a while.  Errors: conflict (no witness of ours), bad_input.
  void take(const std::string& node, const Json& body, Done<Json> done);
  /// How many witnesses wait for an ask just now.
  std::size_t present() const;

 private:
  struct Place {
    std::string node;
    std::optional<LeaseAsk> ask;
    Done<Json> poll;  ///< empty: none waits
    Loop::TimerId timer = 0;
  };
  void answer(Place& place, Json json);

  Loop& loop_;
  std::vector<Place> places_;
  Heard heard_;
  Lifetime lifetime_;
};

}  // namespace sickbay
