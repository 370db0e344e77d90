// SPDX-License-Identifier: Apache-2.0
// NodeList: the answer to GET /v1/nodes, made seldom.
//
// The list of ten thousand nodes takes tens of milliseconds to make, anybody may ask for it at any time, and
// while it is made the loop does nothing else.  So its text is kept: it is told again while nothing has
// changed, for as long as the list of nodes itself may be old, and while it is so young that making it again
// would take more than a tenth of the loop's time.  In a small cluster that is at once.
#pragma once
#include <cstdint>
#include <string>
#include <tuple>

#include "base/time.h"

namespace sickbay {

class Agents;
class Controller;

class NodeList {
 public:
  /// `controller` must outlive it.
  explicit NodeList(const Controller& controller) : controller_(controller) {}

  /// The body of the answer; good until the next call.  `stale`: slurmctld did not answer.  `agents` may be
  /// null.
  const std::string& text(bool stale, const Agents* agents);

 private:
  /// What the list is made from, as far as it says by itself that it has changed.
  using Version = std::tuple<bool, std::uint64_t, std::uint64_t, std::uint64_t>;
  std::string make(bool stale, const Agents* agents) const;

  const Controller& controller_;
  std::string text_;
  Version version_;
  TimePoint made_ = kNoTime;
  Micros cost_{0};
};

}  // namespace sickbay
