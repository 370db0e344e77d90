// SPDX-License-Identifier: Apache-2.0
// Watch: the one who looks at Slurm, for all engines.
//
// Engines say through their seats what they need to see (seat.h, Wish); the watch looks once for all of them,
// at the pace of the most urgent wish and never so often that slurmctld feels it, and turns what differs from
// the view into events.  What nobody wishes is not asked.  It keeps what no engine needs and people do: the
// last look with all of Slurm's fields.  What was seen and could not be kept (a full disk) is told again
// later: a difference counts until the view has it. Source: doc/design/decisions.md 9, 20, 27.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/job.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "service/seats/seats.h"

namespace sickbay {

class Watch {
 public:
  /// `floor`: the shortest time between two looks at jobs.
  Watch(Loop& loop, ResourceManager& manager, const Seats& seats, Micros floor);

  /// Who takes in what was seen.
  void on_news(std::function<void(std::vector<Event>)> take) { take_ = std::move(take); }
  /// Called once, after the first complete look.
  void on_complete(std::function<void()> then) { completed_ = std::move(then); }

  void start();
  /// Plans the next look; to be called when wishes may have changed.
  void plan();
  /// While the journal takes no events nothing is looked at, except for people.
  void pause() { paused_ = true; }
  /// Goes on, with a look at once where something was seen and could not be told meanwhile.
  void resume();

  /// There was a complete look since the start: before it no engine may act.
  bool complete() const { return complete_; }
  /// Nodes as last seen, all of Slurm's fields.
  const std::map<std::string, NodeInfo>& nodes() const { return nodes_; }
  /// Calls `then` when nodes() is at most `max_age` old, or with the reason why it is not.
  void with_nodes(std::chrono::seconds max_age, std::function<void(Status)> then);

  struct Health {
    Status slurm;               ///< why the last look failed, if so
    TimePoint since = kNoTime;  ///< since when it is as it is
    std::uint64_t looks = 0;
  };
  const Health& health() const { return health_; }

 private:
  struct Wishes {
    std::vector<WatchedJob> jobs;
    Micros nodes_every = Micros::max();
    std::map<std::string, std::int64_t> closely;  ///< node -> the look after which it must be told of
    bool none() const { return jobs.empty() && nodes_every == Micros::max(); }
  };
  Wishes wishes() const;
  TimePoint due(const Wishes& wishes) const;
  TimePoint jobs_due(const Wishes& wishes) const;
  void look();
  void see(const RefreshOrder& order, Snapshot snapshot);
  std::vector<Event> node_news(const std::map<std::string, std::int64_t>& closely);
  std::vector<Event> job_news(const RefreshOrder& order, const Snapshot& snapshot,
                              std::vector<WatchedJob>& missing);
  void ask_history(std::vector<WatchedJob> missing);

  Loop& loop_;
  ResourceManager& manager_;
  const Seats& seats_;
  const cluster::View& view_;
  const Micros floor_;
  std::function<void(std::vector<Event>)> take_;
  std::function<void()> completed_;

  std::map<std::string, NodeInfo> nodes_;
  std::set<std::string> unsettled_;              ///< names that the view may not have as nodes_ has them
  std::map<cluster::JobKey, int> absent_looks_;  ///< how often in a row a watched job was nowhere

  bool started_ = false, complete_ = false, paused_ = false, looking_ = false, planned_ = false;
  bool look_again_ = false;  ///< something was seen that could not be told
  Loop::TimerId timer_ = 0;
  TimePoint due_ = kNever;
  TimePoint last_look_ = kNoTime, last_jobs_look_ = kNoTime;
  Micros look_cost_{0}, jobs_look_cost_{0};
  std::vector<std::function<void(Status)>> node_waiters_;
  Health health_;
};

}  // namespace sickbay
