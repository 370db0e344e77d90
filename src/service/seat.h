// SPDX-License-Identifier: Apache-2.0
// Seat: an engine's place in sickbayd.
//
// An engine is two pure functions over its state (ARCHITECTURE.md).  A seat holds that state, knows which of
// its subjects something happened to, and asks the engine about one of them.  It also says what the engine
// needs to be looked at in Slurm, which claims it must hold, and how old events read today.  The controller
// and the watch know engines as a list of seats and no more: a new engine is a folder of engine/, a seat in
// service/seats, and one line in service/seats/seats.cc.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/event.h"

namespace sickbay {

class StateReader;
class StateWriter;

/// What an engine has heard of a job array (service/watch_array.h).
struct WatchedArray {
  TaskIds tasks;               ///< all of them; while nothing was told, those that the user asked for
  TaskIds left;                ///< that have not ended, as far as was told
  bool told = false;           ///< Slurm was seen
  bool begun = false;          ///< a task was seen running
  std::int64_t longest_s = 0;  ///< a task that took longer has failed; 0 = not said
};

/// A job whose changes an engine wants to hear of, as `job_seen` of `subject`, and `job_lost` when nobody
/// knows it any more.
struct WatchedJob {
  JobId job_id = 0;
  std::uint32_t uid = 0;  ///< of its owner: another's job of the same number is a stranger
  std::string key;        ///< what its comment must hold (decisions.md 17); empty: any
  std::string subject;    ///< "c17"
  std::string run;        ///< the engine's own word for it: "c17.r2"
  /// A job array: all its tasks are watched, and told of as `array_seen`.
  std::optional<WatchedArray> array = std::nullopt;
};

/// A job whose nodes are to watch each other through their agents (service/swim_groups.h).
struct SwimWanted {
  JobId job_id = 0;
  std::vector<std::string> nodes;  ///< sorted; fewer than two are no group
  friend bool operator==(const SwimWanted&, const SwimWanted&) = default;
};

/// A node of a run whose processes waited for a processor, as the journal has it (service/starved_watch.h).
struct StarvedTold {
  std::string node;
  Micros lost{0};
  bool apart = false;  ///< it alone, and not all nodes of the run
  friend bool operator==(const StarvedTold&, const StarvedTold&) = default;
};

/// What the journal has of a run whose network loses packets (service/lossy_watch.h).
struct LossyTold {
  std::string node;  ///< whose link it is; "": not known
  std::int64_t lost = 0;
  friend bool operator==(const LossyTold&, const LossyTold&) = default;
};

/// A run whose ranks are looked at by the agents of its nodes (service/rank_watches.h).
struct RanksWatched {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::vector<std::string> nodes;         ///< sorted
  std::string subject, run;               ///< "c17", "c17.r1"
  bool told = false;                      ///< that they do not go on is in the journal
  bool stacks = true;                     ///< whether they go on (do they hang?)
  bool times = false;                     ///< whether they wait for processors
  std::vector<StarvedTold> starved = {};  ///< that they did is in the journal
  bool proven = false;                    ///< of `told`: that this is proven, too
  std::optional<LossyTold> lossy = {};    ///< that packets of it are lost is in the journal
  friend bool operator==(const RanksWatched&, const RanksWatched&) = default;
};

/// What an engine needs to see of Slurm just now.  What nobody wishes costs slurmctld nothing.
struct Wish {
  bool jobs = false;  ///< the seat watches some (Seat::watched_jobs)
  /// The longest time between two looks at the nodes; nothing: nodes need not be looked at.  Watched jobs are
  /// looked at as often as the configuration says, and nodes with them.
  std::optional<Micros> nodes_every;
  /// `nodes_every` and `all_jobs` may be under the configured floor: users' jobs wait for it, or die
  /// (decisions.md 20).
  bool despite_floor = false;
  /// The longest time between two looks at all running jobs in which a node may be replaced, told of as
  /// `job_seen` of "j17" (service/watch_nonstop.h); nothing: they need not be looked at.
  std::optional<Micros> nonstop_jobs;
  /// The longest time between two looks at what all jobs of the cluster have come to, told of as `jobs_ended`
  /// (service/watch_all.h); nothing: it need not be looked at.  One query of slurmctld, whatever else is
  /// wished.
  std::optional<Micros> all_jobs;
  /// And also how long jobs that run have lived, from this age on, before that is surely long enough.
  std::optional<Micros> lives;
  /// With each look at the nodes also which partitions jobs wait for, told of as `queue_seen` when the wish
  /// begins and when that changes.  One query of slurmctld for all jobs.
  bool queue = false;
  /// The seat has not been told since its wish began, which may be sooner after the last one than any look.
  bool queue_untold = false;
  /// The boot time of all nodes matters: nodes_seen has it, with the member `boots`.
  bool boots = false;
};

/// Nodes of which the boot time, the drain and whether they are idle matter, too, and the look (View::looks)
/// after which they must be told of once more, also where they look as they did: the engine has acted since.
using LookedAtClosely = std::map<std::string, std::int64_t>;

class Seat {
 public:
  /// What an engine wants for a subject.
  struct Turn {
    std::vector<cluster::Claim> claims;  ///< to be written first; those that it holds already change nothing
    std::vector<Event> records;          ///< facts that the engine itself decides
    std::vector<Command> commands;       ///< effects; each key is started once, ever
    TimePoint wake_at = kNever;          ///< ask again then, even when nothing happens
  };
  virtual ~Seat() = default;

  /// Names the engine in claims, timers and `parked`: "drain".
  virtual std::string_view name() const = 0;

  /// Takes in one event, at the replay and after, and notes whom it touches.  The cluster has it already.
  virtual void apply(const Event& event) = 0;
  /// What the engine wants for `subject`, given all that has happened.  Pure: it may be asked twice.
  virtual Turn decide(const std::string& subject, TimePoint now) = 0;
  /// sickbayd begins to work: what the journal has was said before this.
  virtual void started(TimePoint /*now*/) {}
  /// The agent of a node has said something, which no event tells of.  True: a subject is touched by it.
  virtual bool heard(const std::string& /*node*/, TimePoint /*now*/) { return false; }
  /// Notes every subject that is not at rest: after a start nobody knows what has passed.
  virtual void touch_all() = 0;

  /// What it needs to be looked at.
  virtual Wish wish() const { return {}; }
  /// The jobs.  Apart from the wish, which is asked for after every commit: a thousand cases have a thousand
  /// of them, and only a look needs to know which.
  virtual std::vector<WatchedJob> watched_jobs() const { return {}; }
  /// The same of single nodes.  Apart from the wish likewise: with half of a cluster out there are
  /// thousands.
  virtual LookedAtClosely closely() const { return {}; }
  /// Running jobs whose nodes are to watch each other (fast detection of lost nodes).
  virtual std::vector<SwimWanted> swim_groups() const { return {}; }
  /// Running jobs whose ranks are to be looked at (do they hang, do they get their processors?).
  virtual std::vector<RanksWatched> ranks_watched() const { return {}; }
  /// Claims that it must hold for what it has done already, which a journal of an older version lacks.
  virtual std::vector<cluster::Claim> owed() const { return {}; }
  /// Raises an event of an older journal to today's version, before anybody takes it in (decisions.md 11).
  virtual void raise(Event&) const {}
  /// Drops a closed subject whose events were archived: what a replay would now give.
  virtual void forget(const std::string& /*subject*/) {}
  /// Everything that a replay must bring back, as text.
  virtual std::string canonical_text() const = 0;
  /// The same as bytes, with what is derived from it, and back (doc/design/snapshot.md).  All engines' are in
  /// service/seats/seat_states.cc.
  virtual void save(StateWriter& out) const = 0;
  virtual void restore(StateReader& in) = 0;

  /// The subjects noted since the last call.
  std::set<std::string> take_touched() { return std::exchange(touched_, {}); }
  bool is_touched(const std::string& subject) const { return touched_.contains(subject); }
  void touch(std::string subject) { touched_.insert(std::move(subject)); }

 protected:
  std::set<std::string> touched_;
};

}  // namespace sickbay
