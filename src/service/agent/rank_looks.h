// SPDX-License-Identifier: Apache-2.0
// RankLooks: this node's part in seeing whether jobs hang.
//
// sickbayd says in the answers to the long poll of which jobs (service/rank_watches.h).  Of each the ranks
// are looked at again and again by a program of its own (sickbay-ranks); what engine/hang makes of it is told
// to sickbayd while somebody waits, and else now and then.  Where no job asks, nothing is done.
//
// Looks cost the job time.  As long as each of its programs has a rank here that does not wait, there is no
// hang, and whether that is still so a glance tells for a twentieth of the cost (adapters/ranks/glance.h).
// One program makes all glances, each few seconds, and the whole look when one is due or a glance cannot say:
// to start it costs as much as ten of them.  Meanwhile what the last whole look saw is told on.  Where all
// wait here the looks are whole, with pauses so long that they use at most a hundredth of a processor: but
// for the first ones, for who hangs is to be told of in seconds. From the second of these on a look also
// proves that they wait, which costs more: the calls in which the look before found them are watched for
// their return (adapters/ranks/returns.h). Source: doc/design/identify.md, "Hangs".
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/hang/standing.h"
#include "model/job.h"
#include "ports/early_end.h"
#include "ports/lifetime.h"
#include "ports/loop.h"

namespace sickbay::agent {

/// One look at the ranks of a job of `uid` on this node.
struct RankLookOrder {
  JobId job = 0;
  std::uint32_t uid = 0;
  /// Not empty: a glance is enough, whether one of each program's ranks goes on; these, which were seen at
  /// `seen` (since the node's start).
  std::vector<std::vector<std::int64_t>> glance;
  TimePoint seen = kNoTime;
  /// Calls of MPI in which some of these were then, and went on.
  std::vector<CallReturn> calls = {};
  /// From one glance to the next, and for how long.
  Micros again{0}, last{0};
  /// A whole look also tells whether its ranks wait for certain; whether these calls return, among others.
  bool prove = false;
  std::vector<CallReturn> returns = {};
  std::shared_ptr<EarlyEnd> early_end = {};  ///< it is not wanted any more; may be null
};
using LookAtRanks = std::function<void(const RankLookOrder& order, Done<RankLook> done)>;

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

  static constexpr int kBudget = 100;  ///< one part of so many of a processor: whole looks
  /// Of a job, and at ranks that wait, before the budget holds: until the last node's look, up to two seconds
  /// later than the first one's, has seen them wait for four.
  static constexpr std::size_t kFirstLooks = 5;
  static constexpr std::chrono::seconds kLongestPause{30}, kTellAnyway{15};
  static constexpr std::chrono::seconds kGoesOnPause{2};   ///< between glances: it may hang next
  static constexpr std::chrono::seconds kWholeEvery{120};  ///< between two whole looks, at the most
  /// Behind the first one, then as long as the job has been watched: what a program does at its start says
  /// little, and how long it starts depends on the machine.  (Time counts, not looks: a start that glances
  /// cannot say anything of has many.)
  static constexpr std::chrono::seconds kWholeAfterFirst{10};
  /// While nothing shows that anybody gets on here, until that is worth a suspicion: before a short limit.
  static constexpr std::chrono::seconds kWholeInDoubt{15};
  static constexpr std::chrono::milliseconds kFirstLook{1500};  ///< of a job that is new here
  /// Between two looks that prove, where all ranks are in MPI and seem to go on.
  static constexpr std::chrono::seconds kProveAnyway{15};

 private:
  struct Job {
    std::uint32_t uid = 0;
    Micros pause{0};
    hang::History history;
    Loop::TimerId timer = 0;
    RankReport report;  ///< of the last whole look
    /// Of the last whole look, where no program of the job waits as a whole: all ranks here, by program.
    std::vector<std::vector<std::int64_t>> ranks;
    TimePoint seen = kNoTime;       ///< its time, since the node's start
    std::vector<CallReturn> calls;  ///< RankLookOrder::calls
    std::shared_ptr<EarlyEnd> looking;
    Loop::TimerId telling = 0;  ///< while glances are under way
    /// The next look is to prove: by the last whole look a program seemed to wait here.  Its calls then.
    bool prove = false;
    TimePoint proved_at = kNoTime;  ///< by our clock
    std::vector<CallReturn> returns;
    TimePoint whole_at = kNoTime;  ///< and by our clock
    TimePoint first_whole_at = kNoTime;
    std::size_t whole_looks = 0;
    std::size_t waited = 0;  ///< whole looks in a row that found a program waiting
    TimePoint told_at = kNoTime;
    bool told_wait = false, failed = false;
  };
  void look(JobId id);
  void seen(JobId id, const Result<RankLook>& looked);
  void tell(JobId id, Job& job, const RankReport& report);
  void tell_later(JobId id, Job& job);
  void forget(Job& job);
  static Micros whole_every(const Job& job);
  void take_whole(Job& job, const RankLook& look);

  Loop& loop_;
  const LookAtRanks look_;
  const std::function<void(Json)> report_;
  const std::function<void(const std::string&)> log_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::int64_t version_ = 0;
  Lifetime lifetime_;
};

}  // namespace sickbay::agent
