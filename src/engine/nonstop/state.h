// SPDX-License-Identifier: Apache-2.0
// What the nonstop engine knows: running jobs with their faulty nodes, what their owners asked for and what
// came of it, time credit, the spare pools, and nodes that users said are failing.  Plain values.
//
// All of it follows from the journal's events and from no setting, so that a replay gives the same under
// every configuration.  What may be done with it, and what is: nonstop.h.  Source: doc/design/nonstop.md.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/event.h"
#include "model/job.h"
#include "model/nonstop_wire.h"
#include "model/running_job.h"

namespace sickbay::nonstop {

using wire::Code;

/// A node of a job, with the CPUs that the job has, or had, there.
struct Share {
  static constexpr int kFields = 2;  ///< base/state_archive.h
  std::string node;
  std::uint32_t cpus = 0;
  friend bool operator==(const Share&, const Share&) = default;
};

/// A node that the job has lost, or that is failing under it.
struct Faulty {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  std::uint32_t cpus = 0;
  NodeFault fault = NodeFault::failed;
  TimePoint at = kNoTime;
  bool credited = false;  ///< minutes were granted for it
};

/// Minutes that the job may add to its limit.  What is left of all grants is its credit.
struct Grant {
  static constexpr int kFields = 6;  ///< base/state_archive.h
  enum class For : std::uint8_t {
    failed,    ///< a node failed (TimeLimitExtend)
    replaced,  ///< a failing node was replaced (the same)
    waiting,   ///< a replacement is waited for (TimeLimitDelay)
    dropped,   ///< a node was dropped (TimeLimitDrop)
  };
  For what = For::failed;
  std::string node;  ///< of failed, replaced and dropped
  int request = 0;   ///< of waiting
  int minutes = 0, used = 0, taken = 0;
  int left() const { return minutes - used - taken; }
};
std::string_view to_string(Grant::For what);

/// Something that was asked for.
struct Request {
  static constexpr int kFields = 35;  ///< base/state_archive.h
  enum class What : std::uint8_t { replace, drop, extend };
  /// Where its work stands.
  enum class Step : std::uint8_t {
    wanted,      ///< nothing is under way: decide() says what comes next
    allocating,  ///< Slurm is asked for a donor
    has_nodes,   ///< the donor runs; its nodes may be examined
    waiting,     ///< the donor waits in the queue
    giving,      ///< the donor's nodes are given to the job
    joined,      ///< they are the job's; failing ones are still to leave
    leaving,     ///< nodes are taken out of the job
    extending,   ///< the time limit is being set
    done,        ///< all was done; decide() says what it comes to
    refused,     ///< it cannot be done, `why` says it; decide() says so
    clearing,    ///< a donor must go, or one that perhaps is
    ended,       ///< nothing will be done for it any more
  };
  /// Where a donor's nodes are to come from; in this order.
  enum class Source : std::uint8_t { idle, pool, queue };

  int n = 0;  ///< "j17.q3" is the third of its job
  What what = What::replace;
  Step step = Step::wanted;
  std::vector<std::string> nodes;    ///< sorted
  std::vector<std::string> failing;  ///< of `nodes`, those that are still in the job
  int minutes = 0;                   ///< of extend
  int limit = 0;                 ///< and the limit that it sets, once it was said: said again, it is the same
  bool perhaps_set = false;      ///< a command for it had no answer
  std::uint32_t uid = 0;         ///< who asked
  std::set<std::string> tokens;  ///< of those who wait for the answer
  TimePoint asked_at = kNoTime, waits_since = kNoTime, ended_at = kNoTime;
  std::optional<Code> code;  ///< the answer, once there is one; its work may go on (clearing)
  std::string why;

  // What is under way.
  std::string pending;             ///< key of the command without an answer
  TimePoint unanswered = kNoTime;  ///< Slurm said nothing to the last one at that time: it is said again
  int acts = 0;                    ///< commands so far: numbers of keys
  int attempts = 0;                ///< donors asked for without success, of those that count
  int drop_tries = 0;
  bool clear_to_retry = false;  ///< of clearing: wanted comes next, else ended

  // The donor.
  Source source = Source::idle;
  JobId donor = 0;
  TimePoint donor_submit = kNoTime;
  std::string donor_key;                      ///< its comment has it; set as soon as it may exist
  std::vector<std::string> donor_nodes;       ///< empty while it waits
  TimePoint expected = kNoTime;               ///< of one that waits: Slurm's guess of its start
  std::string pool;                           ///< reservation that its nodes are of
  std::int64_t spares_version = 0;            ///< State's, when it began to wait
  std::set<std::string> bad;                  ///< nodes that were no good, not to be taken again
  std::map<std::string, std::string> checks;  ///< quick diagnosis of its nodes: node -> key, "ok" or "bad"
  TimePoint checked_from = kNoTime;
  std::vector<std::string> by;  ///< what took the place of `nodes`

  std::string left_in;                             ///< why failing nodes could not leave
  std::vector<std::pair<std::size_t, int>> spent;  ///< of extend: minutes by grant

  bool lives() const { return step != Step::ended; }
  /// The donor's nodes are on their way into the job, or in it: there is no way back.
  bool is_joining() const {
    return step == Step::giving || step == Step::joined || (step == Step::leaving && what == What::replace) ||
           (step == Step::done && what == What::replace);
  }
};
std::string_view to_string(Request::What what);
std::string_view to_string(Request::Step step);

/// What a program that listens is told, in order.
struct Happening {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  enum class What : std::uint8_t { failed, failing, replaced, dropped, extended, ended };
  std::int64_t n = 0;  ///< from 1, for each job
  What what = What::failed;
  std::vector<std::string> nodes, by;
  TimePoint at = kNoTime;
};
std::string_view to_string(Happening::What what);
inline constexpr std::size_t kMostHappenings = 1000;  ///< kept of a job; the oldest go
inline constexpr std::size_t kMostEndedRequests = 50;

/// A running job: one that began anew under its number (a requeue) is another.
struct Job {
  static constexpr int kFields = 23;  ///< base/state_archive.h
  JobId id = 0;
  std::uint32_t uid = 0;
  TimePoint submit = kNoTime;
  std::string partition, batch_host;
  JobId het_job_id = 0;
  int limit = 0;                     ///< minutes; 0 = unlimited
  TimePoint limit_set_at = kNoTime;  ///< by us: what was looked at before is older
  TimePoint changed_at = kNoTime;    ///< its nodes, by us; likewise
  std::vector<Share> nodes;          ///< that it has, in Slurm's order
  std::map<std::string, Faulty> faulty;
  /// Nodes that it has no more, and of which Slurm has not said that they are down: a look at nodes may come
  /// after the look at jobs.  Their CPUs, and when they were missed first.
  std::map<std::string, std::pair<std::uint32_t, TimePoint>> missing;
  std::map<std::string, std::string> replaced;  ///< node -> what took its place
  std::set<std::string> dropped;
  int replaced_count = 0;
  std::vector<Grant> grants;
  std::map<int, Request> requests;
  int last_request = 0;
  std::deque<Happening> happenings;
  std::int64_t last_happening = 0;
  std::map<std::string, std::uint16_t> callbacks;  ///< address -> port
  bool over = false;                               ///< it runs no more
  TimePoint over_at = kNoTime;                     ///< since when

  const Share* share(const std::string& node) const;
  int credit() const;
  /// The one replacement that is under way, or null.
  const Request* replacing() const;
};

/// The spares of a partition.
struct Pool {
  static constexpr int kFields = 11;  ///< base/state_archive.h
  std::set<std::string> members;      ///< as the reservation was set last
  std::set<std::string> asked;        ///< as it is being set
  /// Members that a request draws ("j17.q3"), or that have joined a job (""): those leave the reservation.
  std::map<std::string, std::string> lent;
  std::optional<int> count;  ///< how many, where an operator has said so
  int sets = 0;              ///< numbers of keys
  bool pending = false;
  TimePoint set_at = kNoTime;
  std::int64_t set_look = 0;      ///< View::looks at that time
  TimePoint failed_at = kNoTime;  ///< of the last try, where it failed
  std::string why;
  std::int64_t short_look = -1;  ///< it lacks nodes, and those that were idle before this look may not be now
};

/// A node that somebody wants in Slurm's FAIL state.
struct FailOrder {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  enum class Step : std::uint8_t {
    wanted,
    ordered,
    done,
    refused,
    over,  ///< somebody has taken it out of FAIL
  };
  Step step = Step::wanted;
  std::set<std::string> tokens;
  std::string reason;
  std::uint32_t uid = 0;
  std::string by;  ///< who said so
  JobId job = 0;
  TimePoint at = kNoTime, unanswered = kNoTime;
  int orders = 0;  ///< numbers of keys; they outlive the order
  std::int64_t look = 0;
  std::string why;
  bool seen = false;  ///< Slurm has shown it failing since
};

struct State {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  std::map<JobId, Job> jobs;
  std::map<std::string, std::set<JobId>> on_node;  ///< jobs that have it, miss it, or had it until it failed
  std::set<JobId> busy;                            ///< jobs with a request that lives
  std::deque<JobId> ended;                         ///< the last that ended, for who asks about them
  std::map<std::string, Pool> pools;               ///< by partition; "*": of the whole cluster
  std::int64_t spares_version = 0;                 ///< counts how often a pool has gained a spare
  std::map<std::string, FailOrder> fails;          ///< by node

  const Job* job(JobId id) const {
    const auto it = jobs.find(id);
    return it == jobs.end() ? nullptr : &it->second;
  }
};
inline constexpr std::size_t kMostEndedJobs = 10'000;

}  // namespace sickbay::nonstop
