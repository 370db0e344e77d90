// SPDX-License-Identifier: Apache-2.0
// ResourceManager: what Sickbay asks of Slurm, and nothing else.
//
// adapters/slurm does it on a real cluster, adapters/sim in virtual time; ONE contract suite
// (test/contract) runs against both.  Every effect here is safe to meet twice: it looks first and skips what
// is so already, because after a crash nobody knows whether it happened (doc/design/decisions.md 16, 17).
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/job.h"
#include "model/pending_facts.h"
#include "ports/loop.h"

namespace sickbay {

class NodeReplacement;

/// P again, as its owner, held, with `key` in its comment.
struct ProgramOrder {
  std::string key;  ///< "c17.r2.a1"; the comment becomes "<user's own> sickbay:KEY"
  Submission submission;
  int run_number = 2;                ///< SICKBAY_RUN in the job's environment
  std::vector<std::string> exclude;  ///< nodes added to the user's own --exclude
  std::vector<std::string> include;  ///< nodes that it must run on, among others where it takes more
  std::string output_dir;            ///< gets slurm-%j.out and .err of this run; made as the owner
  std::string work_dir;              ///< where it runs; empty: the submission's
  std::optional<TaskId> array_task;  ///< of a job array only this task, as an array of one
};

/// Whose jobs wait for a job, or would after it use what it wrote.
struct DependentsOrder {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string name;  ///< of the job: singletons of one name are a chain
};
/// A job that has not ended.
struct Dependent {
  JobId job_id = 0;
  std::string name, state;
  std::string why;  ///< "dependency", "singleton"
  friend bool operator==(const Dependent&, const Dependent&) = default;
};

/// V on exactly these nodes, as the service account, held, with `key` in its comment.
struct VerificationOrder {
  std::string key;  ///< "c17.v1.a1"
  std::vector<std::string> nodes;
  std::string script;  ///< the whole batch script
  std::vector<std::string> environment;
  std::string partition;    ///< of the failed run; empty: the default
  std::string reservation;  ///< likewise; the account may be refused there
  std::string output_dir;   ///< gets verify-%j.out and .err
  bool exclusive = true;    ///< whole nodes: where V is to say whether a node is slow
  std::chrono::seconds time_limit{300};
  std::string qos, account;  ///< empty: the account's default
  bool last = false;  ///< behind everybody else in the queue (Slurm's nice), and with no QOS of its own
};

/// Jobs that wait, as one number for each partition and reason.
struct WaitingJobs {
  std::string partition;  ///< one of those that they ask for; a job that asks for two is in both
  std::string reason;     ///< Slurm's word (model/pending_reason.h)
  std::size_t jobs = 0;
  friend auto operator<=>(const WaitingJobs&, const WaitingJobs&) = default;
};

struct Submitted {
  JobId job_id = 0;
  TimePoint submit = kNoTime;  ///< Slurm's stamp: with the id and the key it names the job for good
  std::vector<std::string>
      dropped;  ///< user's options that a re-run cannot have ("--nodelist=n1"): to be reported
};

/// A job as we know it; every effect checks key and uid before it touches the id (ids come again).
struct JobHandle {
  JobId job_id = 0;
  std::uint32_t uid = 0;
  TimePoint submit = kNoTime;
  std::string key;

  Json to_json() const;  ///< {job_id, uid, submit, key}
  static JobHandle from_json(const Json& json);
};

struct ReleaseOrder {
  JobHandle job;
  bool first = false;  ///< before everybody else in the queue (Slurm's highest priority)
};

struct RefreshOrder {
  std::vector<JobId> jobs;    ///< watched ones
  std::vector<JobId> arrays;  ///< job arrays of which all records are wanted
  bool nodes = true;
  bool begun = false;  ///< what the jobs of the whole cluster have come to is wanted, too
};

/// One consistent look.  Costs slurmctld at most one job query and one node query (decisions.md 20).
struct Snapshot {
  TimePoint controller_boot = kNoTime;  ///< when it changes, jobs younger than 5 s may be gone
  std::vector<JobInfo> jobs;            ///< of the watched ones, those slurmctld still knows
  std::vector<JobInfo> tasks;  ///< all records of the arrays; none of one that slurmctld does not know
  /// With `begun`: of all jobs that have started those that have ended, or have come to another age of
  /// ToldLives (model/job_outcome.h), since the look before.  Some may come again, none is left out.
  std::vector<JobInfo> begun;
  std::vector<JobId> absent;            ///< watched, and unknown to slurmctld: ask history()
  std::vector<NodeInfo> nodes;          ///< those that differ from the snapshot before (the first: all)
  std::vector<std::string> gone_nodes;  ///< no longer in the configuration
};

/// A reboot of a node that we drained, and that has no job any more.
struct RebootOrder {
  std::string node;
  TimePoint boot = kNoTime;       ///< as Slurm showed it when the reboot was wanted
  std::string reason;             ///< what the node's reason is to begin with; Slurm appends to it
  std::string own_reason_prefix;  ///< of the drain that must be there
};

/// A job that is to begin anew, from its script on: it runs, or it has ended and slurmctld knows it still.
struct RequeueOrder {
  JobHandle job;
  std::uint32_t restart_cnt = 0;     ///< of the run that is meant: where Slurm counts more, it has begun anew
  std::vector<std::string> exclude;  ///< nodes that it gets no more, besides those that its owner excludes
};
struct Requeued {
  bool did = false;       ///< false: it had begun anew already, by whomever
  bool excluded = false;  ///< it waits, and all of `exclude` is kept away from it
  std::string said;       ///< why it is not
};

/// What the calls cost, for /metrics.
struct CallCount {
  std::string call;  ///< "load_jobs", "submit", ...
  std::uint64_t count = 0, errors = 0;
  double seconds = 0;
};

class ResourceManager {
 public:
  virtual ~ResourceManager() = default;

  /// Errors: refused_by_slurm (Slurm's own words in `what`), slurm_away, timed_out (then nobody knows:
  /// find()).
  virtual void submit_program(ProgramOrder order, Done<Submitted> done) = 0;
  virtual void submit_verification(VerificationOrder order, Done<Submitted> done) = 0;
  /// The jobs of `uid` whose comment or submit line holds "sickbay:KEY", lowest id first: slurmctld's, then
  /// sacct's where slurmctld has none.  Empty is an answer: it was never submitted, or is lost.
  virtual void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) = 0;
  /// The jobs of that user which have not ended and depend on the job (or on the array it is of), or are
  /// singletons of its name, lowest id first.  What a job depends on counts as it was submitted: a dependency
  /// that has come true is shown no more.  Left out: the job itself, our own, those that can never start.
  virtual void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) = 0;
  /// What waits in the queue, ordered by partition and reason: all jobs that are not held, but those that we
  /// submitted for no user (rounds of verification, "p3.v1").  One query of slurmctld for all jobs.
  virtual void waiting(Done<std::vector<WaitingJobs>> done) = 0;
  /// Lets a held job start.  Done already: ok.  Errors: not_found (no such job, or a stranger has its id).
  /// Where Slurm does not let it go first it has its usual place.
  virtual void release(ReleaseOrder order, Done<bool> done) = 0;
  /// Ends a job (pending or running).  Ended or gone already: ok, with false.  A stranger's job: not_found.
  virtual void cancel(JobHandle job, Done<bool> done) = 0;
  /// Puts a job back into the queue, as a whole.  Its owner stays its owner.  Nodes can be kept away from a
  /// job only while it waits: it is held for the moment in between, and a second try ends that, too.  Errors:
  /// not_found, conflict (it may not be requeued, is no batch job, has not begun, or is a whole job array),
  /// busy (it is being cleaned up).
  virtual void requeue(RequeueOrder order, Done<Requeued> done) = 0;
  /// Takes the time before which it does not begin away from a job that waits for that (BeginTime): Slurm has
  /// what was requeued wait for two minutes.  False: it does not wait for one (any more).  Errors: not_found;
  /// busy: it has ended this moment, and a node would take it for the one that was ended.
  virtual void begin_now(JobHandle job, Done<bool> done) = 0;
  virtual void refresh(RefreshOrder order, Done<Snapshot> done) = 0;
  /// Ended jobs from accounting (sacct), those that it knows; without a key: any job of that id, latest
  /// submit.  Of the number of a job array: all its tasks that have ended, and those that ended unstarted as
  /// one.
  virtual void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) = 0;
  /// Drains with a reason, or lifts the drain.  Never replaces a foreign reason (conflict). `changed` false:
  /// was so.
  virtual void drain(std::string node, std::string reason, Done<bool> done) = 0;
  virtual void undrain(std::string node, std::string own_reason_prefix, Done<bool> done) = 0;
  /// Has Slurm reboot a node, which stays drained.  False: it has booted since `order.boot`, or is about to.
  /// Errors: conflict (our drain is not there), busy (the node is not idle), refused_by_slurm (no
  /// RebootProgram).
  virtual void reboot(RebootOrder order, Done<bool> done) = 0;

  /// Sets a node DOWN, which takes it out of its jobs.  False: it was DOWN.  Errors: not_found,
  /// refused_by_slurm.
  virtual void set_down(std::string node, std::string reason, Done<bool> done) = 0;

  /// Why a job waits, as far as slurmctld knows: at most one query each of the job, the nodes, the partitions
  /// and the reservations (only of the job where it is not pending).  Errors: not_found.
  virtual void explain(JobId job, Done<PendingFacts> done) = 0;

  /// The uid that slurmctld runs as (SlurmUser): Slurm lets it do everything, and so do we.
  virtual void slurm_user(Done<std::uint32_t> done) = 0;

  /// Other nodes for running jobs (ports/node_replacement.h): the same Slurm, in the same turns.
  virtual NodeReplacement& node_replacement() = 0;

  virtual std::vector<CallCount> calls() const = 0;
};

}  // namespace sickbay
