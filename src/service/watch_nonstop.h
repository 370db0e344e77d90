// SPDX-License-Identifier: Apache-2.0
// NonstopWatch: looks at running jobs in which a node may be replaced, while an engine wishes it.
//
// The watch (watch.h) asks for jobs that somebody named; here nobody can name them before they have lost a
// node, and then it is too late to learn what they had.  So all running jobs that could be helped are listed,
// at the pace of the wish and never for more than one part in twenty of slurmctld's time.  A job whose nodes,
// limit or begin differ from the view is told of as `job_seen` of its subject "j17"; one that is listed no
// more as `job_lost`. Source: doc/design/nonstop.md, "What is looked at"; doc/design/decisions.md 20, 27.
#pragma once
#include <functional>
#include <set>
#include <vector>

#include "model/running_job.h"
#include "ports/loop.h"
#include "ports/resource_manager.h"
#include "service/pace.h"
#include "service/seats/seats.h"

namespace sickbay {

/// The event that tells of a job as it was seen at `looked` (when the look began).
Event running_job_seen(const RunningJob& job, TimePoint looked);
/// What a whole list tells that the view does not know.
std::vector<Event> running_job_news(const cluster::View& view, const std::vector<RunningJob>& jobs,
                                    TimePoint looked);

class NonstopWatch {
 public:
  /// `after_a_look`: calls what it is given behind the next look at nodes (Watch::after_a_look).
  using AfterALook = std::function<void(std::function<void(Status)>)>;
  NonstopWatch(Loop& loop, ResourceManager& manager, const Seats& seats, AfterALook after_a_look);

  /// Who takes in what was seen.
  void on_news(std::function<void(std::vector<Event>)> take) { take_ = std::move(take); }
  void start();
  /// Plans the next look; to be called when wishes may have changed.
  void plan();
  /// While the journal takes no events nothing is looked at.
  void pause() { paused_ = true; }
  void resume();
  /// Looks at once, also at a job that no list would have (one node, say); `then` when its news were handed
  /// on, or with the reason why there was no look.
  void look_for(JobId job, std::function<void(Status)> then);

  std::uint64_t looks() const { return looks_; }

 private:
  Micros pace() const;
  void look();
  void seen(const std::vector<RunningJob>& jobs, TimePoint began);

  Loop& loop_;
  EarliestTimer next_look_{loop_, [this] { look(); }};
  ResourceManager& manager_;
  const Seats& seats_;
  const AfterALook after_a_look_;
  std::function<void(std::vector<Event>)> take_;
  std::set<JobId> also_;  ///< asked for by people, for as long as the view has them
  std::vector<std::function<void(Status)>> waiting_;
  bool started_ = false, paused_ = false, looking_ = false;
  TimePoint last_look_ = kNoTime;
  UsualCost cost_;
  std::uint64_t looks_ = 0;
};

}  // namespace sickbay
