// SPDX-License-Identifier: Apache-2.0
// StandingFindings: what stands of what the agents found, by node, and how many rules of one node may.
//
// A fault stands until its agent says that it is gone; what could not be told, while it is told again each
// hour.  Of what is told again the journal hears once a day: a fault that stands for a year is no news 24
// times a day.  In between it is only heard().  A node has so many places.  One that asks for more than a
// notice takes the place of the youngest notice where all are taken, so that whoever fills them (a rule for
// each of a thousand links; root of a sick node) hides no reason to drain.  Derived from the journal: a
// replay brings it back.
#pragma once
#include <chrono>
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
  /// What stands is news again after this long.  (Less than a day, for an agent tells it an hour apart.)
  static constexpr std::chrono::minutes kNewsAgain{24 * 60 - 30};

  /// `started`: what the journal has of before was perhaps heard since and not journaled.
  explicit StandingFindings(TimePoint started) : started_(started) {}

  struct Standing {
    static constexpr int kFields = 10;  ///< base/state_archive.h
    std::string finding, rule, result, action, text, boot_id;
    std::string mode;  ///< of the run that found it; "": an older agent's
    TimePoint since = kNoTime;
    TimePoint told = kNoTime;   ///< when the journal heard of it last
    TimePoint heard = kNoTime;  ///< and when we did since, without telling the journal
  };
  using OfNode = std::map<std::string, Standing>;  ///< by rule and result

  /// Takes in an event of kind `finding`.
  void apply(const Event& event);
  /// What stands of a node at `now`, oldest first: [{"finding", "rule", "result", "action", "text", "since",
  /// "told"}].
  Json of(const std::string& node, TimePoint now) const;

  /// The faults that stand of a node, for an agent that has lost its own account of them: [{"rule", "mode"}].
  /// Those of which nobody knows what run would find them gone are left out.
  Json for_agent(const std::string& node) const;

  /// Whether it stands already, just so, and the journal has heard of it within kNewsAgain.
  bool is_known(const std::string& node, const Json& finding, TimePoint now) const;
  /// Takes in that it is told again.
  void heard(const std::string& node, const Json& finding, TimePoint now);

  /// The places of `node`, to try findings of one delivery on, one after another, before they are events.
  OfNode places(const std::string& node) const;
  /// Puts a finding where it belongs.  False, and nothing has changed: all places are taken.
  static bool put(OfNode& places, const Json& finding, const std::string& name, TimePoint at);

  /// All that a replay brings back, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(nodes_);
  }

 private:
  bool is_over(const Standing& one, TimePoint now) const;

  const TimePoint started_;
  std::map<std::string, OfNode> nodes_;
};

}  // namespace sickbay
