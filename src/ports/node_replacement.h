// SPDX-License-Identifier: Apache-2.0
// NodeReplacement: how a running job gets another node, and what else a job with failing nodes may be given.
//
// Slurm has no call for it.  A donor, an allocation of the same owner without any step, gets the nodes and
// gives them to the job (doc/design/nonstop_slurm.md).  A part of the resource manager, with the same
// promise: every act looks first and skips what is so already, so that it may be met twice. The handle of a
// job bears no key: owner and submit time say that it is the one meant.  Errors of each act: those of
// ports/resource_manager.h; not_found (no such job, or a stranger has its number), conflict (it does not run
// any more, or is of a kind that Slurm cannot change), busy (later; slurmdbd has not heard of the job).
#pragma once
#include <string>
#include <vector>

#include "model/running_job.h"
#include "ports/resource_manager.h"

namespace sickbay {

struct DonorOrder {
  JobHandle job;
  std::string key;                              ///< of the command; the donor's comment is "sickbay:KEY"
  std::uint32_t nodes = 1;                      ///< how many
  std::vector<std::uint32_t> cpus;              ///< that the job had on each node it has lost
  std::vector<std::string> exclude;             ///< the job's own nodes need not be here
  std::string reservation;                      ///< to take them from: a spare pool; empty: none
  std::vector<std::string> pool_users{"root"};  ///< who stays in that reservation afterwards
  std::vector<std::string> node_list;           ///< exactly these
  bool immediate = true;  ///< false: it waits in the queue (not in a reservation, which the owner leaves)
  bool again = false;     ///< it may have been allocated before: looked for by its key, twins are cancelled

  Json to_json() const;
  static DonorOrder from_json(const Json& json);
};

struct Donor {
  JobId job_id = 0;
  TimePoint submit = kNoTime;
  std::string state;                   ///< "RUNNING" or "PENDING"
  std::vector<std::string> nodes;      ///< empty while it waits
  TimePoint expected_start = kNoTime;  ///< while it waits, as far as Slurm knows
};

/// What a job has after a change.
struct NodeSet {
  std::vector<std::string> nodes;  ///< all of them, in Slurm's order
  std::vector<CpuGroup> cpus_per_node;
  friend bool operator==(const NodeSet&, const NodeSet&) = default;
};

/// Nodes kept for replacements, in a reservation.
struct SparePool {
  std::string partition;
  std::string reservation;  ///< "HOT_SPARE_" and the partition
  std::vector<std::string> nodes;
  std::vector<std::string> users{"root"};
  friend bool operator==(const SparePool&, const SparePool&) = default;
};

class NodeReplacement {
 public:
  virtual ~NodeReplacement() = default;

  /// The running jobs in which a node could be replaced (more than one node, and those of `also` that run;
  /// donors of ours are left out).  One query of all jobs.
  virtual void running_jobs(std::vector<JobId> also, Done<std::vector<RunningJob>> done) = 0;
  /// One job, whatever its state.  Errors: not_found.
  virtual void running_job(JobHandle job, Done<RunningJob> done) = 0;

  /// Errors: busy (immediate, and no such nodes are free now); conflict (see above; no permit_job_expansion).
  virtual void allocate_donor(DonorOrder order, Done<Donor> done) = 0;
  /// Gives the donor's nodes to the job; the donor is gone then.  `nodes` are those that it had: they tell,
  /// when it is gone already, whether the job has them.  Errors: not_found (the donor is gone, and the job
  /// has not got its nodes), busy (the donor waits still).
  virtual void give_donor(JobHandle job, JobHandle donor, std::vector<std::string> nodes,
                          Done<NodeSet> done) = 0;
  /// The job goes on without these nodes.  Errors: conflict (it would have none left, or lose the node of its
  /// batch script).
  virtual void drop_nodes(JobHandle job, std::vector<std::string> nodes, Done<NodeSet> done) = 0;
  /// Absolute, in minutes from the job's start.  Answers the limit that it has then.
  virtual void set_time_limit(JobHandle job, std::int64_t minutes, Done<std::int64_t> done) = 0;

  /// Slurm's FAIL state: no new work, its jobs go on.  False: was so.  Errors: conflict (a foreign reason).
  virtual void fail_node(std::string node, std::string reason, Done<bool> done) = 0;
  /// Ends it where the reason begins so.  Errors: conflict (a foreign reason; the node is DOWN or drained
  /// besides).
  virtual void unfail_node(std::string node, std::string own_reason_prefix, Done<bool> done) = 0;

  /// Makes the reservation, or changes its nodes and users; without nodes it is removed.  Answers what is.
  virtual void set_spare_pool(SparePool pool, Done<SparePool> done) = 0;
  /// All reservations whose name begins with "HOT_SPARE_".
  virtual void spare_pools(Done<std::vector<SparePool>> done) = 0;
};

inline constexpr std::string_view kSparePoolPrefix = "HOT_SPARE_";

}  // namespace sickbay
