// SPDX-License-Identifier: Apache-2.0
// Recent: the last outcomes of every kind of job, in bounded memory and fairly.
//
// A kind is a user and a program (JobOutcome::program).  Room is given to kinds, never to jobs: a kind keeps
// kMostOfKind outcomes, a user kMostKindsOfUser kinds, the store kMostUsers users, and who comes new takes
// the room of the one who was not heard of for longest.  Within a kind a node on which it fails again and
// again does not push out what it did elsewhere: a node with more than its share gives way.  Beside the kinds
// stands what happened last in the whole cluster, with a bound for each user, too.
//
// A job is one outcome, however often it was told of: told to run, then to have failed, it has failed.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "model/job_outcome.h"

namespace sickbay::blackhole {

inline constexpr std::size_t kMostOfKind = 32;
inline constexpr std::size_t kMostOfKindOnNode = 8;  ///< of which on one node, once it is full
inline constexpr std::size_t kMostKindsOfUser = 16;
inline constexpr std::size_t kMostUsers = 4096;
inline constexpr std::size_t kMostOfAll = 512;       ///< of the whole cluster, whatever their kind
inline constexpr std::size_t kMostOfUserInAll = 8;   ///< and of these of one user
inline constexpr std::size_t kMostKindsOfNode = 32;  ///< kinds that are looked at for one node
/// What one judgement looks at, at most.
inline constexpr std::size_t kMostCompared = kMostKindsOfNode * kMostOfKind + kMostOfAll;
/// What a summary holds: some megabytes at most, of a cluster of any size.
inline constexpr std::size_t kMostInSummary = 20'000;
/// An older outcome says nothing of today: programs and nodes have changed.
inline constexpr std::chrono::hours kFresh{72};

/// One job, as it is kept: `at` is when the journal heard of it last.
struct Kept {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  TimePoint at = kNoTime;
  JobOutcome outcome;  ///< uid and program are those of its kind
};

struct Kind {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  std::uint32_t uid = 0;
  std::string program;
  friend auto operator<=>(const Kind&, const Kind&) = default;
};

class Recent {
 public:
  /// Takes in one outcome that was told of at `at`; what was kept of that run before, if anything.
  std::optional<JobOutcome> take(TimePoint at, const JobOutcome& outcome);

  /// The outcomes of one kind, in the order in which they were first told; empty for one that is not kept.
  const std::deque<Kept>& of(const Kind& kind) const;
  /// The last ones of the whole cluster, likewise.
  const std::deque<Kept>& all() const { return all_; }

  /// What is kept of a job, its last run; null where nothing is.
  const Kept* job(JobId job) const;

  /// All of it, for base/state_archive.h.
  template <class A>
  void walk(A& archive) {
    archive(kinds_, heard_, by_heard_, all_);
  }

  std::size_t kinds() const { return kinds_.size(); }
  std::string canonical_text() const;

  /// What of it is fresh at `now`, of the kinds that were heard of last; at most kMostInSummary outcomes of
  /// kinds.  from_json() gives it back, and nothing else.
  Json to_json(TimePoint now) const;
  static Recent from_json(const Json& json);

 private:
  struct Slot {
    static constexpr int kFields = 2;  ///< base/state_archive.h
    TimePoint heard = kNoTime;
    std::deque<Kept> kept;
  };
  void make_room_for(const Kind& kind);
  void drop_user(std::uint32_t uid);

  std::map<Kind, Slot> kinds_;
  // Users by when they were heard of last, so that the one to go is found at once.
  std::map<std::uint32_t, TimePoint> heard_;
  std::set<std::pair<TimePoint, std::uint32_t>> by_heard_;
  std::deque<Kept> all_;
};

}  // namespace sickbay::blackhole
