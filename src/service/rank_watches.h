// SPDX-License-Identifier: Apache-2.0
// RankWatches: whose ranks are looked at, what the agents tell of them, whether a job hangs, whether its
// processes wait for processors on one of its nodes, and whether its network loses packets.
//
// Engines say which runs want it (Seat::ranks_watched).  An agent gets the jobs on its node in the answer to
// its long poll, as it gets its groups (swim_groups.h), and posts how the ranks stand there, or how long the
// processes waited (starved_watch.h) and what the node's connections lost (lossy_watch.h); engine/hang makes
// a judgement of what all nodes told.  Words of agents
// are kept in memory only: after a restart they come anew.  The journal hears `hang_seen` when a run hangs,
// once more where that is proven only later, and `hang_over` when it goes on after all; of one that only
// looked so, `hang_suspected` when it has ended.  No more, whatever the size of the job.  On the loop's
// thread; `starved_seen` and `lossy_seen` are told likewise.  Source: doc/design/identify.md, "Hangs",
// "Starved processes", "Lossy links".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/hang/judge.h"
#include "engine/hang/last_suspicion.h"
#include "ports/lifetime.h"
#include "service/controller.h"
#include "service/lossy_watch.h"
#include "service/starved_watch.h"

namespace sickbay {

class RankWatches {
 public:
  /// `wake` is told of nodes whose jobs have changed.  `controller` must outlive it.
  RankWatches(Loop& loop, Controller& controller, const hang::Policy& policy,
              std::function<void(const std::string& node)> wake);
  ~RankWatches();

  /// What the agent of `node` is to be told: {version, jobs: [{job, uid, pause_ms}], times: the same, of
  /// those of whose processes only times are wanted, with `ask` where it is to send packets to these
  /// addresses}; null where `version` is what it has.
  Json news(const std::string& node, std::int64_t version) const;
  /// How the ranks of a job stand on a node: {job, report}, or how long they waited and what the node's
  /// connections lost: {job, times, network}.  Errors: bad_input, not_found (its ranks are not looked at, or
  /// not there: it has ended).
  Status take(const std::string& node, const Json& body);
  /// The agent of `node` has asked something, from there.
  void heard(const std::string& node, const std::string& address);
  /// The last judgement on a job, for people; null where its ranks are not looked at, or nothing is known
  /// yet.
  Json of(JobId job) const;

  std::size_t jobs() const { return jobs_.size(); }

 private:
  struct Job {
    RanksWatched watched;
    std::map<std::string, hang::NodeWord> words;  ///< by node
    std::optional<hang::Judgement> judged;
    bool told = false, told_proven = false;
    hang::LastSuspicion suspected;  ///< if the run ends so, that is told
    /// The longest time for which all ranks waited and then went on: a program that does such things needs
    /// more patience.
    Micros ended_wait{0}, waiting{0};
    Loop::TimerId timer = 0;
    StarvedWatch starved;
    LossyWatch lossy;
    std::vector<std::string> asking, asked;  ///< nodes that send packets to these addresses
    Loop::TimerId compare_timer = 0;
  };
  void refresh_soon();
  void refresh();
  void judge_soon(Job& job);
  void judge(JobId id);
  void compare(JobId id);
  void ask_others(Job& job);
  void tell_end(const Job& job);
  void tell(const Job& job, std::string_view kind, Json body);
  void index(const Job& job, bool is_there);
  Micros pause_of(const Job& job) const;
  Micros times_pause() const;

  Loop& loop_;
  Controller& controller_;
  const hang::Policy policy_;
  const std::function<void(const std::string&)> wake_;
  std::map<JobId, Job> jobs_;
  std::map<std::string, std::set<JobId>> by_node_;
  std::map<std::string, std::pair<std::string, TimePoint>> heard_;  ///< by node: from where, and when last
  std::size_t timed_nodes_ = 0;                                     ///< of all jobs whose times are wanted
  std::map<std::string, std::int64_t> versions_;                    ///< by node; none: it has no such job
  std::int64_t last_version_;
  bool refreshing_ = false;
  Loop::TimerId refresh_timer_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay
