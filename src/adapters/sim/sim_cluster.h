// SPDX-License-Identifier: Apache-2.0
// SimCluster: a Slurm cluster in virtual time behind ports/resource_manager.h.
//
// It keeps two truths apart, as a real cluster has them: what nodes and programs do (sim_programs.cc,
// sim_faults.cc) and what slurmctld knows and says of it (the other files).  A crashed
// node is silent at once and DOWN only after SlurmdTimeout; a killed slurmctld forgets what it had not
// saved; an answer can be lost although the call took effect.
// Nodes are given to jobs whole.  The queue is first in, first out; a job that does not fit lets smaller
// ones pass.  All randomness comes from one seed.  Everything runs on the loop's thread.
// Cost: refresh() is O(watched + nodes changed since the last one); other people's jobs (add_background) cost
// 24 bytes each and one timer together.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "adapters/sim/sim_behaviour.h"
#include "adapters/sim/sim_dependency.h"
#include "adapters/sim/sim_folders.h"
#include "adapters/sim/sim_loop.h"
#include "adapters/sim/sim_request.h"
#include "model/job_outcome.h"
#include "ports/node_replacement.h"
#include "ports/resource_manager.h"

namespace sickbay::sim {

struct SimPartition {
  std::string name;
  std::string nodes;            ///< hostlist
  std::int64_t max_time_s = 0;  ///< 0 = unlimited
};

struct SimOptions {
  std::vector<SimPartition> partitions{{"batch", "n[1-6]"}};  ///< the first is the default
  std::uint64_t seed = 1;
  std::uint32_t cpus = 2;                           ///< of each node
  std::chrono::milliseconds answer_time{5};         ///< of every call
  std::chrono::milliseconds away_time{9000};        ///< until an absent slurmctld is given up
  std::chrono::milliseconds call_limit{30000};      ///< until a lost answer is given up
  std::chrono::milliseconds slurmd_timeout{20000};  ///< silent so long: DOWN
  std::chrono::milliseconds completing{200};        ///< epilog and clean-up after a job
  std::chrono::milliseconds save_interval{5000};    ///< of slurmctld's state files
  std::chrono::seconds min_job_age{300};            ///< ended jobs stay so long in slurmctld
  std::chrono::seconds requeue_delay{120};
  JobId first_job_id = 1;
  std::uint32_t verification_uid = 0;                           ///< V runs as
  bool reboots = true;                                          ///< there is a RebootProgram
  std::chrono::seconds boot_time{60};                           ///< of a node that Slurm reboots
  std::vector<std::pair<std::string, std::string>> features{};  ///< of nodes: name and hostlist
  bool write_outputs = true;  ///< real files in output_dir; else only read_output() has them
};

/// How a node is ill.  What is ill shows in every program and verification that uses the node.
struct SimNodeFaults {
  int kill_signal = 0;        ///< one rank of each run here dies of it...
  double kill_share = 1.0;    ///< ...in this share of the runs
  double speed = 1.0;         ///< of its processor; 0.5 takes twice as long
  double loss = 0.0;          ///< share of packets lost
  bool bad_memory = false;    ///< programs get wrong results, memory tests fail
  bool storage_away = false;  ///< the shared storage is not mounted there
  bool full = false;          ///< /tmp has no room: programs that write there fail, and disk tests do
  bool bad_disk = false;      ///< what is written to /tmp comes back otherwise: disk tests fail
  bool spool_full = false;    ///< slurmd has no room for a job's script: none starts there

  bool any() const {
    return kill_signal != 0 || speed != 1.0 || loss != 0.0 || bad_memory || storage_away || full ||
           bad_disk || spool_full;
  }
};

/// Nodes kept for some users for a time.  Whoever else asks for it is refused, and no other job starts there
/// that would run into it.
struct SimReservation {
  std::string name;
  std::string nodes;  ///< hostlist
  TimePoint start = kNoTime, end = kNoTime;
  std::vector<std::uint32_t> users;  ///< uids
};

/// What becomes of one call.
enum class SimCallFault : std::uint8_t {
  lost_request,  ///< it never arrives; the caller hears timed_out
  lost_answer,   ///< it takes effect; the caller hears timed_out
};

/// Other people's jobs: they fill nodes and the queue and make node states change.
struct SimBackground {
  std::size_t live_jobs = 0;   ///< running and pending together, kept at this number
  std::size_t busy_nodes = 0;  ///< nodes they run on, from the last one downwards
  std::uint32_t nodes_per_job = 4;
  std::chrono::seconds mean_run{3600};
};

class SimCluster final : public ResourceManager, public NodeReplacement {
 public:
  /// Partitions must be valid hostlists (programmer error otherwise).  `loop` outlives the cluster.
  SimCluster(SimLoop& loop, SimOptions options);
  ~SimCluster() override;

  void submit_program(ProgramOrder order, Done<Submitted> done) override;
  void submit_verification(VerificationOrder order, Done<Submitted> done) override;
  void find(std::string key, std::uint32_t uid, Done<std::vector<JobInfo>> done) override;
  void dependents(DependentsOrder order, Done<std::vector<Dependent>> done) override;
  void waiting(Done<std::vector<WaitingJobs>> done) override;
  void release(ReleaseOrder order, Done<bool> done) override;
  void cancel(JobHandle job, Done<bool> done) override;
  void begin_now(JobHandle job, Done<bool> done) override;
  void requeue(RequeueOrder order, Done<Requeued> done) override;
  void refresh(RefreshOrder order, Done<Snapshot> done) override;
  void history(std::vector<JobId> jobs, Done<std::vector<JobInfo>> done) override;
  void drain(std::string node, std::string reason, Done<bool> done) override;
  void set_down(std::string node, std::string reason, Done<bool> done) override;
  void undrain(std::string node, std::string own_reason_prefix, Done<bool> done) override;
  void reboot(RebootOrder order, Done<bool> done) override;
  void explain(JobId job, Done<PendingFacts> done) override;
  void slurm_user(Done<std::uint32_t> done) override;
  NodeReplacement& node_replacement() override { return *this; }
  std::vector<CallCount> calls() const override;

  void running_jobs(std::vector<JobId> also, Done<std::vector<RunningJob>> done) override;
  void running_job(JobHandle job, Done<RunningJob> done) override;
  void allocate_donor(DonorOrder order, Done<Donor> done) override;
  void give_donor(JobHandle job, JobHandle donor, std::vector<std::string> nodes,
                  Done<NodeSet> done) override;
  void drop_nodes(JobHandle job, std::vector<std::string> nodes, Done<NodeSet> done) override;
  void set_time_limit(JobHandle job, std::int64_t minutes, Done<std::int64_t> done) override;
  void fail_node(std::string node, std::string reason, Done<bool> done) override;
  void unfail_node(std::string node, std::string own_reason_prefix, Done<bool> done) override;
  void set_spare_pool(SparePool pool, Done<SparePool> done) override;
  void spare_pools(Done<std::vector<SparePool>> done) override;

  // What people do at the cluster, at once and without slurmctld's answer time.

  /// A user's own sbatch.  Errors: refused_by_slurm; slurm_away.
  Result<Submitted> sbatch(const Submission& submission);
  /// scancel by the user or an operator; of an array's number, of all its tasks.  False: no such job, or it
  /// has ended.
  bool scancel(JobId job_id);
  /// The job of a task; for one that waits a record of its own is made.  0: no such task.
  JobId task_job(JobId array, TaskId task);
  /// scontrol requeue: a running job goes back to the queue with a higher restart_cnt.  False as above.
  bool requeue(JobId job_id);
  /// Preempted by a better job: ends as PREEMPTED, or goes back to the queue where it may be requeued.
  bool preempt(JobId job_id);
  /// scontrol update of a node's state by an operator: DOWN at once, jobs on it end.
  void set_down(const std::string& node, const std::string& reason);
  void set_drain(const std::string& node, const std::string& reason);  ///< no new work; heal() lifts it
  void add_background(const SimBackground& load);
  /// From now on all idle nodes, and those that come free, go to other people's jobs of `run` each, until
  /// their queue is empty; jobs with a priority over 0 go first.
  void fill_with_strangers(std::chrono::seconds queue_lasts, std::chrono::seconds run);
  /// scontrol create reservation.  Unknown nodes are programmer errors.
  void add_reservation(const SimReservation& reservation);
  /// scontrol hold: by its user, or by an operator, whose hold the user cannot lift.  False: not pending.
  bool hold(JobId job_id, bool by_operator);
  /// scontrol release by an operator.
  bool release_hold(JobId job_id);
  /// scontrol update priority by an operator; jobs have 0 else.  False: not pending.
  bool set_priority(JobId job_id, int priority);

  // Faults.  Unknown node names are programmer errors.

  void crash_node(const std::string& node);  ///< power off: silent, programs there stop
  void cut_node(const std::string& node);    ///< network down: silent, its programs wait
  void cut_pair(const std::string& a,
                const std::string& b);  ///< no packet between these two; slurmctld has all
  void set_faults(const std::string& node, const SimNodeFaults& faults);
  void heal(const std::string& node);  ///< everything above ends; slurmd registers again
  /// slurmctld ends; killed (-9), it forgets what it had not saved, and gives ids again.
  /// `runs_stay`: what it had not saved of runs goes on, and their nodes refuse a second run of the same job.
  void stop_controller(bool killed, bool runs_stay = false);
  void start_controller();
  /// Both, with that time in between.
  void restart_controller(bool killed, std::chrono::milliseconds down_for, bool runs_stay = false);
  /// The next `times` calls named `call` ("submit_program", "release", ...) meet `fault`.
  void fail_calls(const std::string& call, SimCallFault fault, int times = 1);
  /// Each call meets lost_request or lost_answer with these shares.
  void lose_calls(double requests, double answers) { lost_requests_ = requests, lost_answers_ = answers; }
  /// The caller died: no answer that is under way will be given, and the next one is told of all nodes.
  void drop_answers();

  SimFolders& folders() { return folders_; }

  // What can be seen.

  /// The job as `scontrol show job` has it, else as accounting has it; nothing: never known, or lost.
  std::optional<JobInfo> job(JobId job_id) const;
  /// All jobs with a key that slurmctld or accounting knows, by id.
  std::vector<JobInfo> keyed_jobs() const;
  std::optional<NodeInfo> node(const std::string& name) const;
  std::vector<std::string> node_names() const;
  /// What a job wrote to the file of that name; nothing: no such file.  Kept as long as the cluster.
  std::optional<std::string> read_output(const std::string& path) const;
  /// Exit code and signal of the worst step, as sacct's DerivedExitCode has them.
  std::pair<int, int> derived_exit(JobId job_id) const;
  /// Runs that started, by key: a key with two was executed twice.
  const std::map<std::string, int>& starts_by_key() const { return starts_; }
  std::size_t live_jobs() const;  ///< pending and running, background included

  /// Told of each change of a job's state and of a node's, as they happen: for timelines.
  std::function<void(const JobInfo&)> on_job;
  std::function<void(const NodeInfo&)> on_node;
  /// Overrides what a script says.
  std::function<std::optional<SimBehaviour>(const JobInfo&, const std::string& script)> behaviour_of;

 private:
  using NodeIndex = std::uint32_t;
  struct Node;
  struct Job;
  struct Ending;
  struct Background;
  struct Record {
    JobInfo info;
    std::string key;  ///< from the submit line: sacct shows no comment
  };

  // sim_controller.cc: calls and what they do.
  template <class T>
  void answer(const char* call, Done<T> done, std::function<Result<T>()> effect);
  Result<Job*> job_of(const JobHandle& handle);
  std::vector<JobInfo> jobs_with_key(const std::string& key, std::uint32_t uid) const;
  Snapshot look(const RefreshOrder& order);
  void add_begun(Snapshot& seen);

  // sim_submit.cc, sim_restart.cc
  Result<Submitted> accept(SimRequest request, std::unique_ptr<Job> job);
  Result<Submitted> accept_program(const ProgramOrder& order);
  Result<Submitted> accept_verification(const VerificationOrder& order);
  void forget_unsaved(bool runs_stay);

  // sim_dependents.cc: who waits for whom.
  std::vector<Dependent> dependents_of(const DependentsOrder& order) const;

  // sim_replacement.cc: nodes in and out of running jobs.
  RunningJob running_job_of(const Job& job) const;
  Result<Donor> make_donor(const DonorOrder& order);
  Result<NodeSet> give(const JobHandle& job, const JobHandle& donor, const std::vector<std::string>& nodes);
  void take_node(Job& job, NodeIndex node);
  void resized(Job& job);
  SparePool make_pool(const SparePool& pool);

  // sim_requeue.cc: a job that begins anew since we say so.
  Result<Requeued> begin_anew(const RequeueOrder& order);

  // sim_pending.cc: what slurmctld says of a job that waits.
  Result<PendingFacts> pending_facts(JobId job_id) const;

  // sim_dependency.cc
  DependencyState state_of(const SimDependency& dependency, const Job& waiting) const;
  DependencyState settle_dependencies(Job& job);
  void look_at_dependencies();
  std::string dependency_text(const Job& job) const;

  // sim_reservations.cc
  const SimReservation* reservation_of(NodeIndex node, TimePoint from, TimePoint to) const;
  bool reserved_for_others(NodeIndex node, const Job& job) const;
  std::optional<std::string> refuses_reservation(const Job& job) const;

  // sim_schedule.cc: the queue.
  std::vector<JobId> queue_in_order() const;
  bool fits(const Job& job, NodeIndex node) const;
  void schedule_soon();
  void schedule();
  void schedule_now();
  bool start_tasks(Job& job);
  bool allocate(Job& job);
  bool throttled(const Job& job) const;
  Job& split(Job& waiting, TaskId task);
  void name_outputs(Job& job);
  bool end_by_hand(JobId job_id);
  std::string pending_reason(const Job& job, bool first) const;
  std::size_t nodes_that_fit(const Job& job) const;
  void start(Job& job);
  void time_is_up(Job& job);
  void tell(const Job& job);
  JobInfo shown(const Job& job) const;
  void node_changed(NodeIndex node);
  NodeInfo info_of(NodeIndex node) const;
  bool may_start_on(NodeIndex node) const;

  // sim_ends.cc: a job's way out, or back to the queue.
  void log_end(Job& job, std::string_view why);
  void end(Job& job, const Ending& ending);
  void finish(Job& job);
  void put_back(Job& job, const std::string& old_state);
  void queue_again(Job& job);
  void fail_launch(Job& job);
  void leave_nodes(Job& job);
  void account(const Job& job, const std::string& state);
  void purge(JobId job_id);

  // sim_programs.cc: what runs on the nodes and what it writes.
  void plan(Job& job);
  bool not_launched(Job& job);
  bool never_begins(Job& job);
  bool parts_do_not_meet(Job& job);
  bool finds_no_program(Job& job);
  void plan_program(Job& job);
  void plan_verification(Job& job);
  void set_pace(Job& job);
  void kill_rank(Job& job, std::size_t task, int signal, double after_s);
  void work_done(Job& job);
  void write_outputs(const Job& job);
  bool chance(double share);

  // sim_faults.cc
  NodeIndex index_of(const std::string& node) const;
  void silence(NodeIndex node);
  void mark_down(NodeIndex node, const std::string& reason);
  void lose_job(NodeIndex node);
  Job* running_on(NodeIndex node);
  bool cut_off(NodeIndex a, NodeIndex b) const { return cut_pairs_.contains({a, b}); }

  // sim_background.cc
  void background_step();
  void schedule_strangers();

  SimLoop& loop_;
  SimOptions options_;
  SimFolders folders_;
  std::mt19937_64 random_;

  std::vector<Node> nodes_;
  std::set<std::pair<NodeIndex, NodeIndex>> cut_pairs_;  ///< each both ways round
  std::unordered_map<std::string, NodeIndex> node_index_;
  std::vector<std::vector<NodeIndex>> partition_nodes_;
  std::vector<std::set<NodeIndex>> idle_;  ///< by partition: up, not drained, without a job
  std::vector<NodeIndex> changed_nodes_;   ///< since the last snapshot that was answered

  ToldLives told_lives_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;  ///< what slurmctld knows, background excepted
  std::map<JobId, std::set<JobId>> arrays_;     ///< all job ids that an array has had
  std::map<std::string, std::set<JobId>> by_key_;
  std::set<JobId> queue_;      ///< pending and not held
  std::set<JobId> dependent_;  ///< pending, with dependencies
  bool priorities_ = false;    ///< some job has another than 0
  std::vector<SimReservation> reservations_;
  std::map<JobId, std::vector<Record>> accounted_;  ///< runs that ended, oldest first
  std::map<std::string, std::set<JobId>> accounted_by_key_;
  std::map<std::string, int> starts_;
  std::unordered_map<std::string, std::string> outputs_;
  std::unique_ptr<Background> background_;
  TimePoint strangers_until_ = kNoTime;
  std::chrono::seconds stranger_run_{0};
  JobId next_stranger_;
  std::set<NodeIndex> strangers_began_;
  JobId next_id_;

  TimePoint controller_boot_;
  bool away_ = false;
  bool schedule_posted_ = false;
  std::uint64_t callers_ = 0;  ///< rises by drop_answers()
  std::map<std::string, std::deque<SimCallFault>> call_faults_;
  double lost_requests_ = 0, lost_answers_ = 0;
  std::map<std::string, CallCount> calls_;
};

}  // namespace sickbay::sim
