// SPDX-License-Identifier: Apache-2.0
// What failures and checkpoints cost jobs, which no accounting log tells: from the journal of a cluster that
// has Sickbay.  Whoever imports brings them; how they are reckoned is no matter of this folder.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "workload/store/store.h"

namespace sickbay::workload {

/// A run that ended before its job's work was done.
struct JobFailure {
  std::int64_t job = 0;      ///< job_id_raw
  std::int64_t restart = 0;  ///< of the run
  std::string state;         ///< how it ended; REQUEUED where Slurm began it anew at once
  std::int64_t at = 0;       ///< UTC, microseconds
  std::int64_t ran_ms = 0;
  std::int64_t checkpoint = 0;     ///< that the job went on from; 0: from the beginning
  bool gone_on = false;            ///< it has; else it would go on from there
  std::int64_t recomputed_ms = 0;  ///< computed once more
  std::int64_t without_ms = 0;     ///< what that would be without checkpoints
};

struct JobCheckpoint {
  std::int64_t job = 0, restart = 0, checkpoint = 0;
  std::int64_t at = 0;  ///< UTC, microseconds
  std::int64_t took_ms = 0;
};

struct JobCostList {
  std::string cluster;  ///< whose jobs they are; empty: not told, which fits any
  std::vector<JobFailure> failures;
  std::vector<JobCheckpoint> checkpoints;
  bool empty() const { return failures.empty() && checkpoints.empty(); }
};

/// Brings them into job_failures and then job_checkpoints, each all or nothing: each row once, by job and
/// time; what is known better now (what a job has gone on from since) replaces what was there.
Status import_job_costs(Store& store, const JobCostList& costs);

}  // namespace sickbay::workload
