// SPDX-License-Identifier: Apache-2.0
// The identification engine: why did this job fail, by experiment?
//
// A state machine over the journal.  apply() turns events into state and is also all there is to a replay;
// decide() looks at one case and says what is to be done next.  It may say the same again in the next round:
// the ledger starts a key once.  The flow of a case:
//
//   r1 fails -> r2 elsewhere and, at the same time, v1 (V on r1's nodes) -> the verdict table (verdict.h)
//
// with v2 on r2's nodes as soon as these are known, and r3 where r2 hit a bad node.  A control run of V
// shows that V itself works here when it has not passed on any other node within a day (decisions.md 22).
// No I/O, no clock.  Source: doc/design/identify.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster/cluster.h"
#include "engine/further/posterior.h"
#include "engine/identify/case.h"
#include "model/event.h"
#include "model/hang_mode.h"
#include "model/verify_speeds.h"

namespace sickbay::identify {

/// What a site may set (configuration `identify`).
struct Policy {
  std::chrono::seconds bind_limit{600};  ///< a case without a job expires
  /// V queued so long for a node that is out of service goes on without it; for busy nodes it waits on.
  std::chrono::seconds verification_wait{1800};
  std::chrono::seconds verification_retry{600};  ///< one that said nothing is tried again, this much later
  int verification_attempts = 3;                 ///< that ran, were refused or were lost
  /// So long after the failure nothing more is started or waited for; what runs is let end.
  std::chrono::seconds case_limit{48 * 3600};
  std::chrono::seconds rerun_wait{24 *
                                  3600};  ///< a re-run queued longer than this: its nodes are not to be had
  std::chrono::seconds control_age{24 * 3600};  ///< a pass of V elsewhere counts this long
  HangMode hang = HangMode::off;  ///< where the user does not say: are the ranks of his job watched
  bool starved = true;            ///< runs are looked at for processes that wait for a processor
  bool steps_fail = false;  ///< where the user does not say: a failed step of a COMPLETED job is a failure
  int submit_attempts = 3;  ///< of a run that slurmctld lost or that never began
  int max_reruns = 2;       ///< paper 2.2, step 4
  /// Every failed job of the cluster is looked at, not only those with a case (engine/blackhole).
  bool all_jobs = false;
  int array_cases = 8;  ///< cases of tasks of one job array that are open at a time
  // Re-runs (rerun.h); 0 is no bound.
  RerunWay rerun = RerunWay::copy;  ///< where the user does not say
  std::int64_t copy_max_bytes = std::int64_t{2} << 30;
  int copy_max_files = 20'000;
  std::chrono::seconds ask_wait{24 * 3600};  ///< a question that nobody answers: no re-run
  int ask_above_nodes = 64, ask_above_node_hours = 512;
  int reruns_per_user = 20, reruns_per_script = 4, rerun_node_hours = 1024;  ///< in 24 h
  // Further runs (further.h).
  int further_runs = 24;         ///< of one order, at most
  int further_node_hours = 64;   ///< likewise
  further::Prior prior;          ///< what is believed before the first run
  further::Certainty certainty;  ///< when something is said
};

/// What cases have learnt of a node.  How it stands in Slurm is in the view.
struct NodeRecord {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  TimePoint passed_at = kNoTime;     ///< V's last pass
  TimePoint failed_at = kNoTime;     ///< V's last failure
  std::int64_t failed_case = 0;
  std::vector<Sign> signs;  ///< what its agent found lately, oldest first
};

/// A re-run that was intended within the last day.
struct LateRerun {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  TimePoint at = kNoTime;
  std::int64_t case_no = 0;
  int n = 0;
};

/// What V said of a node last, in any case: an answer to others on the same node (evidence.h).
struct Word {
  static constexpr int kFields = 7;  ///< base/state_archive.h
  std::string run;                   ///< "c3.v1"
  std::int64_t case_no = 0;
  TimePoint began = kNoTime;  ///< Slurm's stamp of V's start
  bool alone = false;         ///< V had the node to itself
  std::string result, reason, fault;
};

struct State {
  static constexpr int kFields = 13;                     ///< base/state_archive.h
  std::map<std::int64_t, Case> cases;                    ///< by number
  std::map<JobId, std::int64_t> by_job;                  ///< user's job -> case
  std::map<std::string, NodeRecord> records;             ///< by node
  std::set<std::int64_t> open;                           ///< not closed (open_cases.h)
  std::map<std::uint32_t, std::size_t> open_of;          ///< owner -> how many of these
  std::map<std::string, std::set<std::int64_t>> blamed;  ///< node -> cases whose verdict blames it (blame.h)
  /// Node -> open cases in which it is a suspect that has not answered since (suspects.h).
  std::map<std::string, std::set<std::int64_t>> suspected;
  std::vector<LateRerun> reruns;  ///< oldest first
  /// Cases that failed alike as far as Slurm tells, in the order of their failures (join.h).
  std::map<std::string, std::set<std::pair<TimePoint, std::int64_t>>> alike;
  std::map<std::string, std::vector<Word>> words;  ///< by node, oldest first; follows from the cases
  Speeds speeds;                                   ///< what V measured, in all cases
  std::int64_t last_case = 0;
  std::set<std::int64_t> resuming;  ///< cases whose job is back in the queue, and has no other case yet
};

/// Null where it is archived, or of a cut journal.
inline const Case* case_of(const State& state, std::int64_t no) {
  const auto it = state.cases.find(no);
  return it == state.cases.end() ? nullptr : &it->second;
}

/// Names the engine: in claims, for one.
inline constexpr std::string_view kName = "identify";

/// Total: unknown kinds and subjects are ignored, so that a journal of a newer version still replays.  `view`
/// has taken in the event before.
void apply(State& state, const cluster::View& view, const Event& event);

struct Decision {
  std::vector<cluster::Claim> claims;  ///< without them there are no commands that start a run
  std::vector<Command> commands;       ///< effects
  std::vector<Event>
      records;  ///< facts that the engine itself decides (verdict, case_closed); seq and at are 0
  TimePoint wake_at = kNever;  ///< look at this case again then, even when nothing happens
};
/// What is to be done about `subject`, given that every command so far is in the state.  Pure.
Decision decide(const cluster::Cluster& cluster, const State& state, const Policy& policy,
                const Case& subject, TimePoint now);

/// Jobs whose changes the engine needs: all bound runs that have not ended.
struct Watched {
  JobId job_id;
  std::int64_t case_no;
  RunId run;
  std::string key;
  std::uint32_t uid;
  const TaskArray* array = nullptr;  ///< a job array, of which all tasks are watched
  std::int64_t expect_time_s = 0;    ///< a task that took longer has failed; 0 = not said
};
std::vector<Watched> watched(const State& state);
/// Whether there are any.
bool watches_jobs(const State& state);

/// All that is looked at to decide about a case, besides the case.
struct Known {
  const cluster::View& view;
  const State& state;
  const Policy& policy;
  TimePoint now;

  /// What cases have learnt of a node; nothing in it where they have learnt nothing.
  const NodeRecord& record(const std::string& node) const;
};

/// C(n) with the rules of decisions.md 22 applied (slow, control, unknown).
Check check_of(const Known& known, const Case& subject, int program_run);

/// Everything that a replay must bring back, as text.
std::string canonical_text(const State& state);

// Kinds of events that only cases have; see doc/formats/journal.md.
using sickbay::kCaseOpened;
using sickbay::kJobBound;
inline constexpr std::string_view kCancelRequested = "cancel_requested";
inline constexpr std::string_view kVerifiedElsewhere = "verified_elsewhere";

}  // namespace sickbay::identify
