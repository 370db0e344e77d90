// SPDX-License-Identifier: Apache-2.0
// Claims: one engine at a time may act on a node or on a job.
//
// A claim is an event.  Who wants to act says so in his Decision; the controller writes the claim where
// nobody else holds it, and asks again, and only then is there a command.  Who came second waits until it is
// released. A claim has a holder (an engine), the subject of that engine that it serves, a reason and an end:
// it ends when it is released, when its time has passed, when the subject that it serves is closed, and when
// what it is on is gone.  So none can be forgotten.  Source: doc/design/decisions.md 21.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster/view.h"
#include "model/event.h"

namespace sickbay::cluster {

struct Claim {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  std::string on;                    ///< "node:n3", "job:17"
  std::string holder;                ///< name of the engine's seat: "drain"
  std::string by;                    ///< the subject that it is held for: "c17", "node:n3"
  std::string reason;                ///< for people
  bool out = false;                  ///< it keeps a node out of service: the breaker counts it
  TimePoint until = kNever;
  TimePoint since = kNoTime;

  Json to_json() const;
};

class Claims {
 public:
  /// Takes in one event that the view has taken in before.
  void apply(const View& view, const Event& event);

  /// The claim on a subject that holds at `now`, or null.
  const Claim* find(const std::string& on, TimePoint now) const;
  /// Whether `holder` holds it, for `by`.
  bool holds(std::string_view holder, std::string_view by, const std::string& on, TimePoint now) const;
  /// Nodes that are kept out of service by us, whoever of us; and those whose claim has run out, until it is
  /// released or given anew.
  const std::set<std::string>& out() const { return out_; }
  /// Whether a claim that holds at `now` keeps the node out of service.
  bool keeps_out(const std::string& node, TimePoint now) const;
  /// How many nodes of the partition claims that hold at `now` keep out.  Costs the same however many they
  /// are.
  std::size_t out_of(const std::string& partition, TimePoint now) const;
  const std::map<std::string, Claim>& all() const { return claims_; }

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(claims_, out_, counted_, out_of_, by_end_);
  }

  static Event claimed(const Claim& claim);
  static Event released(const std::string& on, std::string_view holder, std::string why);

 private:
  void erase(const std::string& on);
  void count(const View& view, const std::string& node);
  void uncount(const std::string& node);
  void drop_ended(TimePoint now);

  std::map<std::string, Claim> claims_;  ///< by what they are on
  std::set<std::string> out_;
  // Nodes of out_ whose claim had not run out at the last event, as their partitions have them.
  struct Counted {
    static constexpr int kFields = 2;  ///< base/state_archive.h
    std::vector<std::string> partitions;
    TimePoint until = kNever;
  };
  std::map<std::string, Counted> counted_;
  std::map<std::string, std::size_t> out_of_;             ///< partition -> so many of counted_
  std::set<std::pair<TimePoint, std::string>> by_end_{};  ///< of counted_, those that run out
};

std::string canonical_text(const Claims& claims);

}  // namespace sickbay::cluster
