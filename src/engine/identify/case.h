// SPDX-License-Identifier: Apache-2.0
// A case: the investigation of one job, and the runs it consists of.  Plain values.
//
// P is the user's job, V the verification program.  Program run n has the outcome A(n) on the node set S(n);
// V's answer about S(n) is C(n).  Source: doc/design/identify.md, "Terms".
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

/// The paper's five symptoms of a failed run.
enum class Symptom : std::uint8_t { none, node_dead, abnormal_exit, stall, abnormal_time, wrong_result };
std::string_view to_string(Symptom symptom);

/// C: what V says about a node set.  `unknown` blames nobody.
enum class Check : std::uint8_t { none, open, ok, failed, unknown };

/// What a run left behind (model/fingerprint.h made it from the output).
struct Trace {
  int rank = -1;     ///< failing rank, -1 unknown
  std::string node;  ///< failing node, "" unknown
  int signal = 0;
  std::string signal_name;
  bool out_of_memory = false;  ///< Slurm says so there
  std::string message;
  std::vector<std::string> last_lines;
};

/// V's word on one node or one link (model/verify_report.h made it).
struct NodeResult {
  std::string node;
  std::string peer;    ///< set for a link
  std::string result;  ///< "ok", "failed", "slow", "unknown"
  std::string reason;
};

struct Run {
  RunId id;
  int attempt = 1;  ///< of the submission; the key is "c17.r2.a1"
  int checks = 0;   ///< of a verification: the program run whose nodes it judges; 0 = control
  Outcome outcome = Outcome::pending;
  Symptom symptom = Symptom::none;
  JobInfo job;                          ///< as last seen
  std::vector<std::string> nodes;       ///< S: kept when the job is over and Slurm forgets them
  std::vector<std::string> down_nodes;  ///< of S, those that went DOWN while it ran
  std::vector<std::string> excluded, reused;
  std::vector<std::string> not_begun_on;  ///< nodes of earlier attempts that never began
  std::string output_dir;
  TimePoint wanted_at = kNoTime, released_at = kNoTime, ended_at = kNoTime;  ///< journal stamps
  bool bound = false, release_done = false, cancel_wanted = false, output_read = false;
  bool bad_constraints = false;       ///< Slurm holds it, last seen so while PENDING: no nodes for it
  int releases = 0;                   ///< releases asked for; a restart of slurmctld can hold a job again
  TimePoint released_boot = kNoTime;  ///< slurmctld's boot time when it was released
  TimePoint seen_at = kNoTime;        ///< of the last job_seen
  std::string refusal;                ///< Slurm's words where it said no
  std::optional<Trace> trace;
  std::vector<NodeResult> results;  ///< of a verification

  std::string key() const { return id.text() + ".a" + std::to_string(attempt); }
  bool is_program() const { return id.kind == RunKind::program; }
  bool is_verification() const { return id.kind == RunKind::verification; }
  bool is_check() const { return id.kind == RunKind::check; }
  bool live() const { return bound && !ended(outcome); }
  /// Slurm's 0:53: slurmd could not set up the job's output (tried on 22.05: a folder that is not there, a
  /// shared file system that is not mounted).  No program dies of signal 53.
  bool never_began() const {
    return outcome == Outcome::failed && job.exit_code == 0 && job.exit_signal == 53;
  }
  /// Slurm had no nodes for it besides those it must keep away from: it said so when it was asked, or held
  /// the job again on its release and we cancelled it.  With fewer nodes kept away it may say yes.
  bool refused_its_nodes() const {
    return outcome == Outcome::not_started ||
           (outcome == Outcome::cancelled && cancel_wanted && bad_constraints);
  }
  /// Nodes on which this run, as submitted now and before, never began.
  std::vector<std::string> never_began_on() const;
  /// Changes of its job matter.
  bool watched() const { return live() && outcome != Outcome::checking; }
};

/// What an agent found on a node (a finding whose result is a fault).
struct Sign {
  std::string source;           ///< "f9"
  std::string rule, text;       ///< "memory/bank_lost" and its words
  TimePoint at = kNoTime;       ///< the agent's clock
  TimePoint gone_at = kNoTime;  ///< when it was said to be gone
};
/// A sign that fits a run of a case in node and time.
struct CaseSign {
  std::string node;
  RunId run;
  Sign sign;
};

struct Options {
  bool deliver = false;            ///< keep P's run elsewhere when a node was guilty
  bool rerun = true;               ///< false: P must not run twice
  bool requeue = false;            ///< the user allowed Slurm to requeue
  std::string check;               ///< command that judges the output of a COMPLETED run
  std::int64_t expect_time_s = 0;  ///< longest time a good run takes; 0 = not said
  std::string workdir = "same";    ///< "same" or "copy"
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
  expired
};
/// On the wire: "normal", "a", "b", "non_deterministic", ...
std::string_view to_string(Cause cause);
Cause cause_from(std::string_view name);

enum class Confidence : std::uint8_t { low, medium, high };
std::string_view to_string(Confidence confidence);

struct Verdict {
  Cause cause = Cause::none;
  bool final = false;
  std::string sentence;
  std::vector<std::string> nodes;
  Confidence confidence = Confidence::high;
  std::vector<std::string> why, missing, next;
  std::string rule;  ///< row of the verdict table
  TimePoint at = kNoTime;

  Json to_json() const;
  static Verdict from_json(const Json& json);
};

struct Case {
  std::int64_t no = 0;
  Owner owner;
  Options options;
  std::string work_dir;
  std::string output_dir;          ///< of P's re-runs
  std::vector<Run> programs;       ///< r1, r2, ...
  std::vector<Run> verifications;  ///< v1, v2, ...; attempts replace their entry
  std::vector<Run> result_checks;  ///< k1, k2, ...: `--check` on what r1, r2, ... left
  std::vector<CaseSign> signs;     ///< evidence only
  std::optional<Verdict> verdict;
  std::vector<std::string> notes;  ///< what a reader must know: dropped options, re-used nodes
  bool cancel_requested = false;
  std::string cancelled_by;
  TimePoint opened = kNoTime, closed = kNoTime;

  std::string name() const { return case_name(no); }
  bool is_closed() const { return closed != kNoTime; }
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
