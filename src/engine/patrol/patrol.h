// SPDX-License-Identifier: Apache-2.0
// The patrol: idle nodes are verified before a user's job meets their faults.
//
// Memory is scrubbed while nobody asks for it; this is the same for nodes.  A round ("p3") is asked for by an
// operator.  It takes nodes that are idle, that nobody claims and that no waiting job could start on, those
// first that were verified longest ago, a few at one time, and runs V on them as a job of ours that stands
// behind all others in the queue.  Where jobs come to wait for these nodes, V is ended.  What V said is told
// (`verified`), and is evidence to cases as V's word for another case is.  A node that V fails on, while it
// has passed on another node within a day, is told to the drain engine (`patrol_blames`), which does with it
// what it does with a verdict.
//
// Where the black hole engine suspects a node (`black_hole_suspected`), a round is opened by Sickbay itself
// (suspects.cc), or the node goes first in the one that is open.  V on it is an experiment in two ways: V may
// fail there; and as long as V has it, what would have started there starts elsewhere, and passes or fails.
// So that V goes before all jobs of the queue, who would die there, and keeps the node for a while.
//
// apply() and decide() as in engine/identify; the subject of a decision is a round, and one is open at a
// time. No I/O, no clock.  Source: doc/design/verify_fleet.md; doc/design/decisions.md 21, 22, 25.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster.h"
#include "model/event.h"
#include "model/job.h"
#include "model/verify_speeds.h"

namespace sickbay::patrol {

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "patrol";
/// Who asked for a round that no person has asked for.
inline constexpr std::string_view kBySickbay = "sickbayd";

/// What a site may set (configuration `patrol`).
struct Policy {
  int budget = 64;     ///< nodes of one round, where nobody says another number
  int together = 8;    ///< nodes of one run of V
  int node_hours = 0;  ///< of all rounds in 24 h; 0: no bound
  std::chrono::seconds longest{
      300};  ///< V may take: what has not ended counts for so much (verify.time_limit)
  std::chrono::seconds fresh{86400};  ///< a node verified since then is left out, but where it is named
  std::chrono::seconds time{3600};    ///< a round takes no more nodes after it
  std::chrono::seconds start_wait{
      60};  ///< V that has not begun by then is taken back: its nodes are not idle
  std::chrono::seconds proof_age{86400};  ///< so near a pass on another node must be, to show that V is sound
  bool suspects = true;                   ///< a round is opened for a node on which whatever starts fails
  cluster::BreakerPolicy breaker;         ///< of all engines
};

/// One run of V.
struct Run {
  static constexpr int kFields = 17;  ///< base/state_archive.h
  PatrolRunId id;
  std::vector<std::string> nodes;  ///< sorted
  std::string partition;
  bool first = false;  ///< on a node under suspicion: before all jobs in the queue; else behind them
  JobInfo job;         ///< as last seen
  TimePoint released_at = kNoTime;
  bool bound = false, release_asked = false, release_done = false, ended = false, output_read = false;
  bool told = false;             ///< `verified` is in the journal, or there is nothing to tell
  bool yielded = false;          ///< we ended it for others' sake, or since somebody stopped the round
  std::string cancelled;         ///< why we ended it; empty: we did not
  std::string refusal;           ///< why it said nothing
  Json results;                  ///< as heard (engine/cluster/heard_results.h)
  std::set<std::string> blamed;  ///< nodes of which patrol_blames has told

  std::string key() const { return id.text(); }
  bool began() const { return job.start != kNoTime; }
  /// How long it kept its nodes; of one that has not ended `longest`, for that is what it may take.
  Micros kept(std::chrono::seconds longest) const;
  /// Its output is worth reading: it came to its own end, or Slurm's.
  bool speaks() const;
  /// Nothing more will come of it.
  bool settled() const { return ended && told; }
};

/// Instead of a uid: it is not one user's jobs alone that speak against a node.
inline constexpr std::int64_t kOfSeveral = -1;

struct Round {
  static constexpr int kFields = 17;  ///< base/state_archive.h
  std::int64_t no = 0;
  std::string by;  ///< who asked
  TimePoint asked_at = kNoTime, closed_at = kNoTime;
  std::vector<std::string> named;  ///< the nodes that were asked for, sorted; empty: all
  int budget = 0;
  /// They go first, and need not be idle -> since when they are suspected.
  std::map<std::string, TimePoint> suspects;
  std::set<std::string> proven;   ///< of these: at fault, by V or by what jobs came to
  bool for_suspects = false;      ///< nobody asked for it: it is about them, and about one node more
  std::int64_t uid = kOfSeveral;  ///< whose jobs alone speak against the suspect it is about
  std::string stopped_by;         ///< empty: nobody
  std::vector<Run> runs;
  std::map<std::string, std::int64_t> taken;  ///< claimed, no run yet -> View::looks then
  std::map<std::string, std::string> said;    ///< node -> its result in this round: "ok", "failed", "slow"
  std::map<std::string, int> vain;            ///< node -> runs of V that said nothing of it
  bool queue_known = false;                   ///< a queue_seen came since it was asked for
  std::string why;                            ///< it closed

  std::string name() const { return patrol_name(no); }
  bool open() const { return closed_at == kNoTime; }
  bool is_suspect(const std::string& node) const { return suspects.contains(node); }
  /// Nodes that were given to a V that began, or that may.
  int spent() const;
  /// Node-seconds that its runs took which are over.
  std::int64_t node_seconds() const;
};

/// V's last words on a node, whoever asked.
struct NodeRecord {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  TimePoint passed_at = kNoTime, said_at = kNoTime;
  std::string by, result, reason;  ///< the last word
};

/// A node that is to be verified since its jobs fail, and has not been since it was told.
struct Suspect {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  TimePoint since = kNoTime;
  std::string why;
  std::int64_t uid = kOfSeveral;  ///< whose jobs fail there, where they are one user's

  bool of_one_user() const { return uid != kOfSeveral; }
};

struct State {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  std::map<std::int64_t, Round> rounds;
  std::int64_t last = 0;  ///< number of the last round
  std::map<std::string, NodeRecord> nodes;
  std::map<std::string, Suspect> suspects;  ///< of which no round has been asked to verify yet
  Speeds speeds;

  /// The round that is open, or null.
  const Round* open() const;
};

/// Total; `view` has taken in the event before.  True: decide() must be asked about the open round, or where
/// there is none decide_opening().
bool apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<cluster::Claim> claims;
  std::vector<Command> commands;  ///< submit_verification, release, cancel, read_output
  std::vector<Event> records;     ///< verified, patrol_blames, patrol_closed, claim_released
  TimePoint wake_at = kNever;
};
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy, const Round& round,
                TimePoint now);

/// Whether a round is opened for suspects, while none is open (suspects.cc).
Decision decide_opening(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                        TimePoint now);
/// V has passed on another node, so it is sound: within `proof_age` of `began`, when it ran on `node`; and of
/// a suspect, or in a round for suspects, since these are suspected: something may be away everywhere since
/// (but not where one user's jobs alone speak against it, and pass elsewhere).
bool has_passed_elsewhere(const State& state, const Policy& policy, const Round& round,
                          const std::string& node, TimePoint began);

/// Why a node is taken next, or not.
enum class Standing : std::uint8_t {
  ready,     ///< it is taken
  running,   ///< V is on it, or about to be
  done,      ///< verified in this round
  given_up,  ///< V said nothing of it, again and again
  out,       ///< down, drained, reserved: not in service
  fresh,     ///< verified not long ago
  claimed,   ///< another part of Sickbay is at work on it
  busy,      ///< a job has it
  wanted,    ///< jobs wait for its partition
  later,     ///< nodes under suspicion go first
  breaker,   ///< the breaker leaves no room now
  budget,    ///< the budget of the round is spent, or that of the day
};
std::string_view to_string(Standing standing);

/// What a choice looks at.  The engine takes all of it from the cluster; who only asks what would be taken
/// has newer facts.
struct Sight {
  const cluster::Cluster& cluster;
  const std::set<std::string>& wanted;  ///< partitions that jobs wait for
  std::function<bool(const std::string& node)> idle;
};

struct Choice {
  Standing standing = Standing::ready;
  std::string why;  ///< for people; empty where the standing says all
};
/// How every node that the round is about stands, by name.
std::map<std::string, Choice> choose(const Sight& sight, const State& state, const Policy& policy,
                                     const Round& round, TimePoint now);

/// A job whose changes the engine needs.
struct Watched {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string key, subject, run;
};
std::vector<Watched> watched(const State& state);
/// Nodes that must be looked at closely, and the look after which each must be told of once more.
std::map<std::string, std::int64_t> looked_at(const cluster::Cluster& cluster, const State& state,
                                              const Policy& policy, TimePoint now);

/// A round for people: {round, open, by, asked_at, budget, spent, verified, running, ...}.
Json round_view(const Round& round);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

// Words of the journal (doc/formats/journal.md); those that others hear are in model/event_kinds.h.
using sickbay::kPatrolAsked;
inline constexpr std::string_view kPatrolStop = "patrol_stop";  ///< p3 {by}

}  // namespace sickbay::patrol
