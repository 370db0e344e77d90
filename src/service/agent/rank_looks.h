// SPDX-License-Identifier: Apache-2.0
// RankLooks: this node's part in seeing whether jobs hang.
//
// sickbayd says in the answers to the long poll of which jobs (service/rank_watches.h).  Of each the ranks
// are looked at again and again by a program of its own (sickbay-ranks), with pauses so long that it uses at
// most a hundredth of a processor; what engine/hang makes of it is told to sickbayd while somebody waits, and
// else now and then.  Where no job asks, nothing is done.  Source: doc/design/identify.md, "Hangs".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "engine/hang/standing.h"
#include "model/job.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay::agent {

/// Looks once at the ranks of a job of `uid` on this node.
using LookAtRanks = std::function<void(JobId job, std::uint32_t uid, Done<RankLook> done)>;

class RankLooks {
 public:
  /// `report` gets {job, report}, to be sent to sickbayd.
  RankLooks(Loop& loop, LookAtRanks look, std::function<void(Json)> report,
            std::function<void(const std::string& line)> log);
  ~RankLooks();

  /// All jobs of this node whose ranks are to be looked at; those that are there go on.
  void take(const Json& told);
  /// Of the jobs told last; 0 before.
  std::int64_t version() const { return version_; }
  std::size_t jobs() const { return jobs_.size(); }

  static constexpr int kBudget = 100;  ///< one part of so many of a processor
  static constexpr std::chrono::seconds kLongestPause{30}, kTellAnyway{15};

 private:
  struct Job {
    std::uint32_t uid = 0;
    Micros pause{0};
    hang::History history;
    Loop::TimerId timer = 0;
    TimePoint told_at = kNoTime;
    bool told_wait = false, failed = false;
  };
  void look(JobId id);
  void seen(JobId id, const Result<RankLook>& looked);

  Loop& loop_;
  const LookAtRanks look_;
  const std::function<void(Json)> report_;
  const std::function<void(const std::string&)> log_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::int64_t version_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
