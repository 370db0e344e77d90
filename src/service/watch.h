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
#include "model/job_outcome.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "service/pace.h"
#include "service/seats/seats.h"
#include "service/watch_nonstop.h"

namespace sickbay {

class Watch {
 public:
  /// `floor`: the shortest time between two looks at jobs.
  Watch(Loop& loop, ResourceManager& manager, const Seats& seats, Micros floor);

  /// Who takes in what was seen.
  void on_news(std::function<void(std::vector<Event>)> take) {
    nonstop_.on_news(take);
    take_ = std::move(take);
  }
  /// Called once, after the first complete look.
  void on_complete(std::function<void()> then) { completed_ = std::move(then); }

  void start();
  /// Plans the next look; to be called when wishes may have changed.
  void plan();
  /// While the journal takes no events nothing is looked at, except for people.
  void pause() {
    paused_ = true;
    nonstop_.pause();
  }
  /// Goes on, with a look at once where something was seen and could not be told meanwhile.
  void resume();

  /// There was a complete look since the start: before it no engine may act.
  bool complete() const { return complete_; }
  /// Nodes as last seen, all of Slurm's fields.
  const std::map<std::string, NodeInfo>& nodes() const { return nodes_; }
  /// Calls `then` when nodes() is at most `max_age` old, or with the reason why it is not.
  void with_nodes(std::chrono::seconds max_age, std::function<void(Status)> then);
  /// Calls `then` after a look at nodes that begins from now on, and when its news were handed on.  As all
  /// looks that programs cause, it may wait for slurmctld's sake; one look is for all who wait.
  void after_a_look(std::function<void(Status)> then);

  /// Watched jobs that were nowhere when they were looked for last.
  std::size_t absent() const { return absent_looks_.size(); }

  /// Who looks at running jobs that may lose nodes.
  NonstopWatch& nonstop() { return nonstop_; }

  struct Health {
    Status slurm;               ///< why the last look failed, if so
    TimePoint since = kNoTime;  ///< since when it is as it is
    std::uint64_t looks = 0;
  };
  const Health& health() const { return health_; }

 private:
  struct Wishes {
    bool jobs = false;
    Micros nodes_every = Micros::max();
    Micros all_every = Micros::max();
    Micros lives = kEarly;
    bool queue = false, queue_untold = false, boots = false;
    bool none() const { return !jobs && nodes_every == Micros::max() && all_every == Micros::max(); }
  };
  Wishes wishes() const;
  std::vector<WatchedJob> watched_jobs() const;
  LookedAtClosely closely() const;
  bool awaited() const { return !node_waiters_.empty() || !next_look_waiters_.empty(); }
  TimePoint due(const Wishes& wishes) const;
  TimePoint jobs_due(const Wishes& wishes) const;
  TimePoint all_due(const Wishes& wishes) const;
  void look();
  void see(const RefreshOrder& order, const std::optional<std::vector<WaitingJobs>>& queue,
           Snapshot snapshot);
  std::vector<Event> node_news(const Wishes& wished);
  std::vector<Event> job_news(const RefreshOrder& order, const Snapshot& snapshot,
                              std::vector<WatchedJob>& missing);
  bool hides_nodes(const WatchedJob& watched, const JobInfo& job, const JobInfo* before);
  void array_news(WatchedJob& watched, std::vector<JobInfo>& records, std::vector<Event>& events,
                  std::vector<WatchedJob>& missing);
  void array_history(const WatchedJob& watched, const std::vector<JobInfo>& past, std::vector<Event>& events);
  void forget_absent(const std::vector<WatchedJob>& jobs);
  void ask_history(std::vector<WatchedJob> missing);

  Loop& loop_;
  EarliestTimer next_look_{loop_, [this] { look(); }};
  ResourceManager& manager_;
  const Seats& seats_;
  const cluster::View& view_;
  const Micros floor_;
  NonstopWatch nonstop_;
  std::function<void(std::vector<Event>)> take_;
  std::function<void()> completed_;

  std::map<std::string, NodeInfo> nodes_;
  std::set<std::string> unsettled_;              ///< names that the view may not have as nodes_ has them
  std::map<cluster::JobKey, int> absent_looks_;  ///< how often in a row a watched job was nowhere
  std::map<cluster::JobKey, TimePoint> completing_since_;  ///< ended jobs whose nodes were not seen yet

  std::map<JobId, std::map<JobId, std::string>> task_nodes_;  ///< of running tasks, by array and job id
  std::map<JobId, std::vector<JobInfo>> array_records_;       ///< slurmctld's, while accounting is asked

  bool started_ = false, complete_ = false, paused_ = false, looking_ = false;
  bool boots_told_ = false;  ///< the last look told boot times of all nodes
  bool queue_told_ = false;  ///< since somebody wishes to know of the queue
  bool look_again_ = false;  ///< something was seen that could not be told
  TimePoint last_look_ = kNoTime, last_jobs_look_ = kNoTime, last_all_look_ = kNoTime;
  UsualCost look_cost_, jobs_look_cost_, all_look_cost_;
  ShareOfTime asked_;  ///< of looks that somebody waits for
  std::vector<std::function<void(Status)>> node_waiters_;
  std::vector<std::function<void(Status)>> next_look_waiters_;  ///< for whom a look under way is too old
  Health health_;
};

}  // namespace sickbay
