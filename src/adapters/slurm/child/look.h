// SPDX-License-Identifier: GPL-2.0-or-later
// One consistent look at the watched jobs and the nodes, at the least cost to slurmctld.
//
// slurmctld's update_time does not filter: one changed job returns all of them.  So watched jobs are read
// one by one or all at once, whichever was cheaper when last tried.  Nodes come all at once, and only those
// that differ from the look before go over the socket.  The controller's boot time is read last: when it has
// changed, the jobs may have been read from the controller before, and the whole look is done again.
// Source: doc/design/decisions.md 17, 20.
#pragma once
#include <chrono>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "adapters/slurm/child/records.h"
#include "base/json.h"
#include "base/result.h"
#include "model/job_outcome.h"

namespace sickbay::slurm {

class Look {
 public:
  /// Args {jobs: [id], arrays: [id], nodes: bool, begun: bool}; answers {controller_boot, jobs, tasks, begun,
  /// absent, nodes, gone, full}. The differences are kept only when all of it succeeded, so that a failed
  /// look loses none.
  Result<Json> refresh(const Json& args);

 private:
  using NodeMap = std::map<std::string, NodeInfo, std::less<>>;
  struct JobsSeen {
    std::vector<JobInfo> jobs;
    std::vector<JobId> absent;
    std::vector<JobInfo> tasks;
    std::vector<JobInfo> begun;
  };

  Result<Json> look_once(const Json& args);
  Result<JobsSeen> read_jobs(const std::vector<JobId>& ids, const std::vector<JobId>& arrays, bool begun);
  Result<JobsSeen> read_each(const std::vector<JobId>& ids, const std::vector<JobId>& arrays);
  Result<JobsSeen> read_all(const std::vector<JobId>& ids, const std::vector<JobId>& arrays, bool begun);
  /// All nodes, or nothing when slurmctld says that none has changed.
  Result<std::optional<NodeMap>> read_nodes();
  Status read_partitions();
  Result<TimePoint> read_boot_time();
  void add_begun(const job_info_msg_t& all, JobsSeen& seen);
  bool one_by_one(std::size_t watched) const;

  ToldLives told_lives_;
  TimePoint boot_ = kNoTime;
  time_t conf_seen_ = 0;  ///< slurmctld's stamp of our last answer, for "has it changed since?"
  NodeMap nodes_;
  bool nodes_known_ = false;
  time_t nodes_seen_ = 0;
  Partitions partitions_;
  std::chrono::steady_clock::time_point partitions_read_{};

  // What reading cost when last tried; 0: not tried yet.
  double each_us_ = 0, all_us_ = 0;
  std::chrono::steady_clock::time_point each_tried_{}, all_tried_{};
};

}  // namespace sickbay::slurm
