// SPDX-License-Identifier: Apache-2.0
// StandingFindings: what stands of what the agents found, by node, and how many rules of one node may.
//
// A fault stands until its agent says that it is gone; what could not be told, while it is told again each
// hour.  A node has so many places.  One that asks for more than a notice takes the place of the youngest
// notice where all are taken, so that whoever fills them (a rule for each of a thousand links; root of a sick
// node) hides no reason to drain.  Derived from the journal: a replay brings it back.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/json.h"
#include "base/time.h"
#include "model/event.h"

namespace sickbay {

class StandingFindings {
 public:
  static constexpr std::size_t kMost = 64;  ///< of one node

  struct Standing {
    std::string finding, rule, result, action, text;
    TimePoint since = kNoTime, told = kNoTime;
  };
  using OfNode = std::map<std::string, Standing>;  ///< by rule and result

  /// Takes in an event of kind `finding`.
  void apply(const Event& event);
  /// What stands of a node at `now`, oldest first: [{"finding", "rule", "result", "action", "text", "since",
  /// "told"}].
  Json of(const std::string& node, TimePoint now) const;

  /// The places of `node`, to try findings of one delivery on, one after another, before they are events.
  OfNode places(const std::string& node) const;
  /// Puts a finding where it belongs.  False, and nothing has changed: all places are taken.
  static bool put(OfNode& places, const Json& finding, const std::string& name, TimePoint at);

 private:
  std::map<std::string, OfNode> nodes_;
};

}  // namespace sickbay
