// SPDX-License-Identifier: Apache-2.0
// The nonstop engine: a running job loses a node, gets another or goes on without it, and keeps its number,
// its place and its allocation.
//
// What a job's owner asks for (answer.h) becomes events; decide() turns them into commands, one at a time for
// each request, and what they come to into an answer.  A replacement takes nodes that are idle, else spares,
// else it waits in the queue; a donor allocation brings them (doc/design/nonstop.md, "A replacement").
// Between its donor's allocation and its end the job is claimed: no other engine touches it.
//
// apply() and decide() as in engine/identify.  Subjects: "j17" a running job, "spares" the pools, "node:n3" a
// node that somebody wants in the state FAIL.  No I/O, no clock.  Source: doc/design/nonstop.md.
#pragma once
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/nonstop/state.h"
#include "model/event.h"

namespace sickbay::nonstop {

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "nonstop";
inline constexpr std::string_view kSpares = "spares";  ///< the subject of all pools

/// What a site may set.
struct Policy {
  bool on = false;             ///< there is a nonstop service: without it nothing is looked at
  wire::NonstopConfig config;  ///< nonstop.conf
  bool examine = false;        ///< agents run: a replacement passes a quick diagnosis before it joins
  std::chrono::seconds examine_limit{10};  ///< and no answer within this is no objection
  std::chrono::milliseconds nodes_every{500}, jobs_every{2000};  ///< between two looks, while jobs are known
  std::chrono::milliseconds idle_every{5000};                    ///< and while none is
  std::chrono::seconds say_again{10};  ///< pause before something is said again that Slurm did not answer
  int most_attempts = 10;              ///< donors that died, or were refused to join, before it is given up
  cluster::BreakerPolicy breaker;      ///< of all engines
};

/// Total.  `view` has taken in the event before.  Gives the subjects about which decide() must be asked
/// again.
std::vector<std::string> apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<cluster::Claim> claims;
  std::vector<Command> commands;
  std::vector<Event> records;
  TimePoint wake_at = kNever;
};
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const std::string& subject, TimePoint now);

/// Subjects that are not at rest.
std::vector<std::string> restless(const State& state, const Policy& policy);

/// A donor that waits in the queue, to be watched.
struct WatchedDonor {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string key, subject, run;
};
std::vector<WatchedDonor> watched(const State& state);
/// Nodes that must be looked at closely, and the look after which each must be told of once more: where a
/// pool lacks nodes, those of its partition.
std::map<std::string, std::int64_t> looked_at(const cluster::Cluster& cluster, const State& state,
                                              const Policy& policy);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

/// Happenings of a job after number `after`, oldest first.
std::vector<Happening> happenings_after(const State& state, JobId job, std::int64_t after);

/// "HOT_SPARE_batch"; of the pool of the whole cluster ("*") "HOT_SPARE_ALL".
std::string reservation_of(std::string_view partition);
/// How many spares the partition is to have, and whether it has a pool at all.
std::optional<int> spares_wanted(const State& state, const Policy& policy, const std::string& partition);

// Words of the journal (doc/formats/journal.md).  The first four are of j17, but for a drain: of node:n3.
inline constexpr std::string_view kAsked =
    "nonstop_asked";  ///< {what, nodes, minutes, all, uid, token, reason, job}
inline constexpr std::string_view kAnswered = "nonstop_answered";   ///< {request, code, what, nodes, by, why}
inline constexpr std::string_view kTimeCredited = "time_credited";  ///< {for, node, request, minutes}
inline constexpr std::string_view kTimeTaken = "time_taken_back";   ///< {grant, minutes}
inline constexpr std::string_view kCallbackSet = "callback_set";    ///< j17 {address, port}; port 0: no more
using sickbay::kSparesAsked;
inline constexpr std::string_view kConfRead =
    "nonstop_conf_read";  ///< spares {hot_spares, max_spare_nodes, delay, drop, extend}: read again
inline constexpr std::string_view kSparesShort = "spares_short";  ///< spares {partition, wanted, has}

}  // namespace sickbay::nonstop
