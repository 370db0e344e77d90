// SPDX-License-Identifier: Apache-2.0
// Breaker: how many nodes Sickbay may take out of service, whichever of its engines wants to.
//
// Two bounds for each partition: how many nodes may leave within a window, and how many we may have out at
// one time.  A wrong rule or a bug of ours must not empty a cluster.  Whatever takes
// nodes away draws on it, today drains and reboots: a command says in `draws` which nodes it takes, and its
// intent is counted.  What administrators drain is counted, too, and never stopped. It asks nobody to wait in
// vain: who was held is noted, and is asked again when a node comes back or the window has moved on.  Source:
// doc/design/decisions.md 25.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster/claims.h"
#include "engine/cluster/view.h"
#include "model/event.h"

namespace sickbay::cluster {

/// What a site may set (configuration `drain`).
struct BreakerPolicy {
  std::chrono::seconds window{3600};
  int most = 5;               ///< nodes that may leave per window and partition,
  int most_percent = 5;       ///< and in percent of its nodes; the smaller of both, but at least 1
  int most_out_percent = 20;  ///< of a partition's nodes out by us at one time; at least 1
};
/// Nodes that left longer ago than this are forgotten; BreakerPolicy::window is at most this.
inline constexpr std::chrono::hours kLongestWindow{24};

class Breaker {
 public:
  struct Partition {
    static constexpr int kFields = 3;                    ///< base/state_archive.h
    std::deque<std::pair<TimePoint, std::string>> left;  ///< who left and when, in order of time
    std::map<std::string, TimePoint> last;               ///< when each of them left last
    bool tripped = false;
  };
  /// Why nothing may happen; `why` is empty where it may.
  struct Held {
    std::string why;
    TimePoint until = kNever;  ///< when it is worth asking again
  };
  /// The answer to who wants to take a node out.
  struct Leave {
    bool granted = false;
    Held held;
    std::vector<Event> records;  ///< what the journal is to hear of it
  };

  /// Takes in one event that the view and the claims have taken in before.
  void apply(const View& view, const Claims& claims, const Event& event);

  /// May `node` leave, for `by`?  Pure; the leave is taken when a command with `draws` is intended.
  Leave ask(const BreakerPolicy& policy, const View& view, const Claims& claims, const std::string& node,
            const std::string& by, TimePoint now) const;
  /// How many more nodes of the partition may be out at one time by the second bound, if none leaves for
  /// good: none while the first bound is reached.  For who keeps nodes busy for minutes and gives them back
  /// whenever they are wanted: it asks here, and draws nothing.
  std::size_t room(const BreakerPolicy& policy, const View& view, const Claims& claims,
                   const std::string& partition, TimePoint now) const;
  /// Of the first bound alone: for a node that is out already and would be taken away for longer.
  Held held_by_recent(const BreakerPolicy& policy, const View& view, const std::string& node,
                      TimePoint now) const;
  /// Whether the leave of a node stands in the window of all of its partitions: taking it away for longer
  /// takes nothing more.
  bool is_counted(const BreakerPolicy& policy, const View& view, const std::string& node,
                  TimePoint now) const;

  /// Whether `by` was held and still waits.
  bool waits(const std::string& by) const { return waiting_.contains(by); }
  /// Subjects that wait.
  const std::set<std::string>& waiting() const { return waiting_; }
  const std::map<std::string, Partition>& partitions() const { return partitions_; }

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(partitions_, waiting_);
  }

  /// What `by` says when it does not want to leave any more.
  static Event wait_ended(const std::string& by);

 private:
  void note_leaving(const View& view, const std::string& node, TimePoint at);
  void on_nodes_seen(const View& view, const Claims& claims, const Event& event);
  Held held(const BreakerPolicy& policy, const View& view, const Claims& claims, const std::string& partition,
            const std::string& node, TimePoint now) const;
  Held held_by_recent_of(const BreakerPolicy& policy, const View& view, const std::string& partition,
                         TimePoint now) const;

  std::map<std::string, Partition> partitions_;
  std::set<std::string> waiting_;
};

std::string canonical_text(const Breaker& breaker);

}  // namespace sickbay::cluster
