// SPDX-License-Identifier: Apache-2.0
// A case: the investigation of one job, and the runs it consists of.  Plain values.
//
// P is the user's job, V the verification program.  Program run n has the outcome A(n) on the node set S(n);
// V's answer about S(n) is C(n).  Source: doc/design/identify.md, "Terms".
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/identify/array_tasks.h"
#include "engine/identify/further_state.h"
#include "engine/identify/rerun_state.h"
#include "model/failure_text.h"
#include "model/hang_mode.h"
#include "model/ids.h"
#include "model/job.h"

namespace sickbay::identify {

/// How a run stands or ended.  The words are those of the API ("outcome").
enum class Outcome : std::uint8_t {
  pending,  ///< submitted or about to be; has not started
  running,
  checking,  ///< COMPLETED; the user's own check of its result is still to come
  ok,        ///< COMPLETED, and within what the user said he expects
  failed,
  cancelled,  ///< by the user or an operator
  out_of_memory,
  deadline,
  no_failure,   ///< preempted, revoked or requeued: says nothing, the case waits or tries again
  lost,         ///< slurmctld and accounting know nothing of it
  not_started,  ///< Slurm refused it, or it could not start in time
};
std::string_view to_string(Outcome outcome);
/// Nothing more will come of this run.
bool ended(Outcome outcome);
/// It ran to an end that says something of the program or its nodes: ok or failed.
bool has_spoken(Outcome outcome);

/// The paper's five symptoms of a failed run.
enum class Symptom : std::uint8_t {
  none,
  node_dead,
  abnormal_exit,
  stall,
  abnormal_time,
  wrong_result,
  steps_failed,  ///< the script ended with 0, and a step of it did not
};
std::string_view to_string(Symptom symptom);

/// C: what V says about a node set.  `unknown` blames nobody.
enum class Check : std::uint8_t { none, open, ok, failed, unknown };

/// What a run left behind (model/fingerprint.h made it from the output).
struct Trace {
  static constexpr int kFields = 9;  ///< base/state_archive.h
  int rank = -1;                     ///< failing rank, -1 unknown
  std::string node;                  ///< failing node, "" unknown
  int signal = 0;
  std::string signal_name;
  bool out_of_memory = false;  ///< Slurm says so there
  std::string message;
  std::vector<std::string> last_lines;
  std::string cause = {};                  ///< why it ended, as the output says; "" in old journals
  Telling cause_tells = Telling::nothing;  ///< how much that tells
  /// The program, its language or a library says that it gave up, or why.
  bool knows_cause() const { return cause_tells >= Telling::gives_up; }
};

/// V's word on one node or one link (model/verify_report.h made it).
struct NodeResult {
  static constexpr int kFields = 6;  ///< base/state_archive.h
  std::string node;
  std::string peer;    ///< set for a link
  std::string result;  ///< "ok", "failed", "slow", "unknown"
  std::string reason;
  std::string fault = {};  ///< what is wrong (model/verify_report.h); "" where an older version told none
  std::string from = {};   ///< the run of another case that said so ("c3.v1"); empty: its own
};

/// What became of a node of a run by somebody's hand or Slurm's, with the reason that it was given.
struct NodeNote {
  static constexpr int kFields = 5;                         ///< base/state_archive.h
  enum class What : std::uint8_t { lost, taken, drained };  ///< DOWN by Slurm, DOWN by a person, drained
  std::string node;
  What what = What::lost;
  std::string reason;
  std::uint32_t uid = 0;      ///< who gave it
  bool while_it_ran = false;  ///< or ended; else later
};

/// A run of a job before Slurm started it again: by itself when a node was lost, or since the job asked.
struct Incarnation {
  static constexpr int kFields = 8;  ///< base/state_archive.h
  std::uint32_t restart_cnt = 0;
  std::string state;                           ///< as last seen
  std::vector<std::string> nodes, down_nodes;  ///< of `nodes`, those that went DOWN then or soon after
  TimePoint ended_at = kNoTime;                ///< when the next one was seen
  TimePoint start = kNoTime;                   ///< Slurm's
  /// The worst of its steps, as the next run shows it at first: Slurm does not begin that count anew.
  int step_exit_code = 0, step_exit_signal = 0;
};

/// A node of a run on which its processes waited for a processor, or were stopped (service/starved_watch.h).
struct Starved {
  static constexpr int kFields = 8;  ///< base/state_archive.h
  std::string node;
  std::string process;  ///< name of the one that lost most
  std::chrono::seconds seen{0};
  std::int64_t waited = 0, stopped = 0;  ///< thousandths of that time
  std::int64_t others = -1;              ///< what those on the other nodes lost; -1: there is no other
  Micros throttled{0};                   ///< by a quota, as far as known
  bool apart = false;                    ///< much more than on the others
  std::int64_t lost_permille() const { return waited + stopped; }
  Micros lost() const { return Micros(seen) * lost_permille() / 1000; }
};

/// The network of a run lost packets between its nodes (service/lossy_watch.h).
struct Lossy {
  static constexpr int kFields = 9;  ///< base/state_archive.h
  std::string node;                  ///< whose link it is; "": not known
  std::vector<std::string> nodes;    ///< the ends of what lost them
  std::chrono::seconds seen{0};
  std::int64_t sent = 0, lost = 0;                ///< segments of TCP, where they were lost
  std::int64_t others_sent = 0, others_lost = 0;  ///< elsewhere between nodes of the run
  std::int64_t echoes = 0, echoes_lost = 0;       ///< packets of `node` to hosts outside it, and back
};

/// Ends the key of what takes the job of a run away that has failed already, and is none of its ends.
inline constexpr std::string_view kTakeAway = ":takeaway";

struct Run {
  static constexpr int kFields = 37;  ///< base/state_archive.h
  RunId id;
  int attempt = 1;    ///< of the submission; the key is "c17.r2.a1"
  int spent = 0;      ///< attempts before it that count: see tries() and refusals()
  bool alone = true;  ///< of a verification: it had whole nodes, so it may judge speed
  int checks = 0;     ///< of a verification: the program run whose nodes it judges; 0 = control
  Outcome outcome = Outcome::pending;
  Symptom symptom = Symptom::none;
  JobInfo job;                          ///< as last seen
  std::vector<std::string> nodes;       ///< S: kept when the job is over and Slurm forgets them
  std::vector<std::string> down_nodes;  ///< of S, those that Slurm lost while it ran
  std::vector<NodeNote> node_notes;     ///< of S
  std::vector<std::string> excluded, reused;
  std::vector<std::string> not_begun_on;  ///< nodes of earlier attempts that never began
  std::string output_dir;
  TimePoint wanted_at = kNoTime, released_at = kNoTime, ended_at = kNoTime;  ///< journal stamps
  bool bound = false, release_done = false, cancel_wanted = false, output_read = false;
  bool is_held = false;          ///< one of ours that has failed, whose job Slurm holds: to be taken away
  bool bad_constraints = false;  ///< Slurm holds it, last seen so while PENDING: no nodes for it
  int releases = 0;              ///< releases asked for; a restart of slurmctld can hold a job again
  TimePoint released_boot = kNoTime;  ///< slurmctld's boot time when it was released
  TimePoint seen_at = kNoTime;        ///< of the last job_seen
  std::string refusal;                ///< Slurm's words where it said no
  std::optional<Trace> trace;
  /// Its ranks do not go on (engine/hang), as told last; null where they do, or nobody looked.
  Json hang;
  TimePoint hang_at = kNoTime, hang_over_at = kNoTime;  ///< journal stamps; over: they went on after all
  Json suspicion;  ///< of one that ran into its limit: it looked like a hang to the last; else null
  std::vector<Starved> starved;      ///< by node, as told last
  std::optional<Lossy> lossy;        ///< likewise
  std::vector<NodeResult> results;   ///< of a verification
  std::vector<Incarnation> earlier;  ///< of the same job, oldest first; the first and the latest few

  std::string key() const { return id.text() + ".a" + std::to_string(attempt); }
  bool is_program() const { return id.kind == RunKind::program; }
  bool is_verification() const { return id.kind == RunKind::verification; }
  bool is_check() const { return id.kind == RunKind::check; }
  bool live() const { return bound && !ended(outcome); }
  bool hangs() const { return hang.is_object() && hang_over_at == kNoTime; }
  /// Nobody could let its ranks go on: it may be ended, where its owner wants that.
  bool hang_is_proven() const { return hangs() && hang["proven"].as_bool(); }
  /// All its ranks waited for each other: no slow node makes that.
  bool is_deadlock() const { return hangs() && hang["why"].as_string() == "deadlock"; }
  /// It hangs with every rank that is left in MPI_Finalize: its work was done.  Some MPI libraries do that to
  /// correct programs (MPICH 4.0.2 on a busy machine, in up to a third of runs).
  bool hangs_at_its_end() const;
  /// It hangs in a way that no slow node makes: its ranks wait for each other, or it had come to its end.
  bool hangs_however_fast() const { return is_deadlock() || hangs_at_its_end(); }
  /// Slurm's 0:53: slurmd could not set up the job's output (tried on 22.05: a folder that is not there, a
  /// shared file system that is not mounted).  No program dies of signal 53.
  bool never_began() const {
    return outcome == Outcome::failed && job.exit_code == 0 && job.exit_signal == 53;
  }
  /// A person set a node of it DOWN, and that ended it: nothing failed.
  bool was_taken() const;
  /// Nodes that Slurm lost under it: those seen DOWN, else the one that its output names; empty where Slurm
  /// says NODE_FAIL and no more.
  std::vector<std::string> lost_nodes() const;
  /// Slurm had no nodes for it besides those it must keep away from: it said so when it was asked, or held
  /// the job again on its release and we cancelled it.  With fewer nodes kept away it may say yes.
  bool refused_its_nodes() const {
    return outcome == Outcome::not_started ||
           (outcome == Outcome::cancelled && cancel_wanted && bad_constraints);
  }
  /// It was on its way when we ended it: `refusal` says why.
  bool was_cancelled_by_us() const { return outcome == Outcome::cancelled && cancel_wanted; }
  /// Of a verification: attempts, this one too, that ran, were refused or were lost.  To wait in vain costs
  /// none: on a busy cluster V stays in the queue while its case is open.
  int tries() const;
  /// Of a re-run: attempts, this one too, that Slurm had no nodes for.
  int refusals() const { return spent + (refused_its_nodes() ? 1 : 0); }
  /// Nodes on which this run, as submitted now and before, never began.
  std::vector<std::string> never_began_on() const;
  /// Changes of its job matter.
  bool watched() const { return live() && outcome != Outcome::checking; }
};

/// What an agent found on a node (a finding whose result is a fault).
struct Sign {
  static constexpr int kFields = 5;  ///< base/state_archive.h
  std::string source;                ///< "f9"
  std::string rule, text;            ///< "memory/bank_lost" and its words
  TimePoint at = kNoTime;            ///< the agent's clock
  TimePoint gone_at = kNoTime;       ///< when it was said to be gone
};
/// A node that did not answer Slurm while a run was on it.  An upgrade of slurmd looks the same, so this is
/// shown and never convicts (doc/glossary.md: suspect).
struct Suspect {
  static constexpr int kFields = 4;  ///< base/state_archive.h
  std::string node;
  RunId run;
  TimePoint at = kNoTime;          ///< journal stamps
  TimePoint cleared_at = kNoTime;  ///< when it answered again
};
/// A sign that fits a run of a case in node and time.
struct CaseSign {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::string node;
  RunId run;
  Sign sign;
};

struct Options {
  static constexpr int kFields = 10;  ///< base/state_archive.h
  bool deliver = false;               ///< keep P's run elsewhere when a node was guilty
  bool rerun = true;                  ///< false: P must not run twice
  bool requeue = false;               ///< the user allowed Slurm to requeue
  bool recover = false;            ///< where nodes are the cause the job is put back without them (resume.h)
  std::string check;               ///< command that judges the output of a COMPLETED run
  std::int64_t expect_time_s = 0;  ///< longest time a good run takes; 0 = not said
  std::string workdir = "same";    ///< "same" or "copy"
  bool steps_fail = false;         ///< a failed step of a COMPLETED job is a failure
  bool until_verdict = false;  ///< a failure that does not repeat is run again until it is known (further.h)
  HangMode hang = HangMode::off;  ///< whether its ranks are watched
};

enum class Cause : std::uint8_t {
  none,
  normal,
  program,
  node,
  non_deterministic,
  inconclusive,
  cancelled,
  out_of_memory,
  deadline,
  expired,
  mixed,              ///< of a job array: its tasks failed for different causes
  sometimes_program,  ///< (c): it fails now and then, wherever it runs
  sometimes_node,     ///< (d): it fails now and then where a node, or two, take part
};
/// On the wire: "normal", "a", "b", "c", "d", "non_deterministic", ...
std::string_view to_string(Cause cause);
Cause cause_from(std::string_view name);
/// Of such a verdict `nodes` are the cause.
constexpr bool names_nodes(Cause cause) { return cause == Cause::node || cause == Cause::sometimes_node; }

enum class Confidence : std::uint8_t { low, medium, high };
std::string_view to_string(Confidence confidence);

/// A node, or a link between two, that was found faulty, whether it is the cause of the job's failure or not.
struct Faulty {
  static constexpr int kFields = 6;  ///< base/state_archive.h
  std::string node, peer;            ///< peer: of a link
  std::string by;    ///< the run that found it: "c17.v1" by its verification, "c17.r1" for it lost it
  std::string what;  ///< "verification failed", "slow", "went down", "file system full"
  std::string reason;
  bool drains = false;  ///< a reason to take the node out of service, whatever the cause comes to be
  friend bool operator==(const Faulty&, const Faulty&) = default;
};

/// Two answers: the cause of the user's job, and which nodes were found faulty.
struct Verdict {
  static constexpr int kFields = 13;  ///< base/state_archive.h
  Cause cause = Cause::none;
  bool final = false;
  std::string sentence;
  std::vector<std::string> nodes;  ///< that are the cause
  /// Nothing: a version with one answer wrote it, and `nodes` are both.
  std::optional<std::vector<Faulty>> faulty;
  Confidence confidence = Confidence::high;
  std::vector<std::string> why, missing, next;
  /// Where nothing is decided: nodes that Slurm lost under the job.  Its owner may have asked that it be put
  /// back without them all the same (resume.h).
  std::vector<std::string> lost;
  Json further;      ///< of further runs: the shares of all hypotheses; null where there were none
  std::string rule;  ///< row of the verdict table
  TimePoint at = kNoTime;

  Json to_json() const;
  static Verdict from_json(const Json& json);
};

/// The job of a closed case is put back into the queue (resume.h).
struct Resumption {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::string recovery;              ///< "r3", which does it
  std::uint32_t restart_cnt = 0;     ///< of the job before that
  std::string without;               ///< hostlist: nodes that it is to get no more
};

struct Case {
  static constexpr int kFields = 33;  ///< base/state_archive.h
  std::int64_t no = 0;
  Owner owner;
  Options options;
  std::string work_dir;
  std::string output_dir;          ///< of P's re-runs
  std::vector<Run> programs;       ///< r1, r2, ...
  std::vector<Run> verifications;  ///< v1, v2, ...; attempts replace their entry
  std::vector<Run> result_checks;  ///< k1, k2, ...: `--check` on what r1, r2, ... left
  std::vector<CaseSign> signs;     ///< evidence only
  std::vector<Suspect> suspects;   ///< likewise
  std::optional<Verdict> verdict;
  std::vector<std::string> notes;  ///< what a reader must know: dropped options, re-used nodes
  bool cancel_requested = false;
  std::string cancelled_by;

  Reruns reruns;                       ///< whether and how the program may run again (rerun.h)
  std::optional<FurtherRuns> further;  ///< asked for, now or before
  Json inputs;                         ///< what P reads, with digests of when it was submitted
  std::string script_digest;           ///< of script, arguments and options; empty: not known
  bool names_folder = false;           ///< the script names its folder by its whole path
  bool submits_jobs = false;           ///< it calls sbatch: run again, it would submit them again
  // Of the same failure (join.h).
  std::int64_t joined = 0;           ///< the case whose experiment is this one's, too; 0: none
  std::set<std::int64_t> left;       ///< cases that it had joined, and whose verdict does not explain it
  std::set<std::int64_t> followers;  ///< cases that have joined this one
  TimePoint left_at = kNoTime;       ///< when it last began to be on its own

  TimePoint opened = kNoTime, closed = kNoTime;
  std::optional<TaskArray> array;  ///< the case of a job array: there are no runs then
  std::int64_t parent = 0;         ///< the case of a task: that of its array; 0: of none
  TaskName task;                   ///< likewise
  std::optional<Resumption> resumption;
  std::int64_t resumes = 0;  ///< the case before, whose job this one goes on with; 0: none
  std::int64_t first = 0;    ///< and the one that it was submitted for
  std::vector<JobId> jobs;   ///< by which people find it, or found it before another case had that one

  std::string name() const { return case_name(no); }
  bool is_closed() const { return closed != kNoTime; }
  /// Its time runs from then: from its job's failure, from when it left the experiment of another case, or
  /// from when further runs were asked for.
  TimePoint began_at() const {
    const TimePoint failed = programs.empty() ? kNoTime : programs.front().ended_at;
    if (failed == kNoTime) return failed;
    return std::max({failed, left_at, further ? further->asked_at : kNoTime});
  }
  /// The user's own; 0 while there is none.
  JobId job_id() const { return array ? array->job_id : programs.empty() ? 0 : programs.front().job.job_id; }
  const Run* program(int n) const {
    return n >= 1 && n <= static_cast<int>(programs.size()) ? &programs[static_cast<std::size_t>(n - 1)]
                                                            : nullptr;
  }
  /// The list that a kind of run stands in.
  std::vector<Run>& runs(RunKind kind);
  const std::vector<Run>& runs(RunKind kind) const { return const_cast<Case*>(this)->runs(kind); }
  /// The newest verification of program run `n` as it was last submitted (0: the control run), or null.
  const Run* check_of(int n) const;
  /// The newest `--check` of program run `n`, or null.
  const Run* result_check_of(int n) const;
};

}  // namespace sickbay::identify
