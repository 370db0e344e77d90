// SPDX-License-Identifier: Apache-2.0
// Which of a job's processes this is, by what Slurm says in the environment and what the caller knows better.
//
// Processes that take a checkpoint together have one session: a step of a job.  Its name is the same in all
// of them and comes never again, so that nobody takes what an earlier step left for an answer.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "model/ids.h"

namespace sickbay::ckpt {

/// A variable of the environment; "" where it is not set.
using Variable = std::function<std::string(const char*)>;

inline constexpr std::int64_t kMostRanks = 1'000'000;

struct Participant {
  JobId job = 0;     ///< whose checkpoints these are
  JobId in_job = 0;  ///< the job that runs; another one where `job` is gone on with
  std::int64_t restart = 0;
  std::uint32_t uid = 0;
  std::string node;
  std::int64_t node_number = 0;
  std::int64_t rank = 0, ranks = 1;  ///< among those that take part
  std::int64_t nodes = 1;
  std::string session;
  TimePoint job_end = kNever;  ///< when Slurm ends it
};

/// What goes before the environment.
struct Known {
  std::optional<std::int64_t> job, rank, ranks;
  std::string session;
};

/// Reads SLURM_JOB_ID, SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_NODEID, SLURMD_NODENAME,
/// SLURM_RESTART_COUNT, SLURM_JOB_UID, SLURM_STEP_ID, SLURM_STEP_NUM_NODES, SLURM_JOB_END_TIME.  Outside of a
/// step (in the batch script itself) there is one process.  Without Slurm: PMI_RANK, PMI_SIZE and
/// SICKBAY_SESSION.  `unique` names a session of a single process.
/// Errors: usage: a number that is none, no job, several processes without a session.
Result<Participant> participant_from(const Variable& variable, const Known& known, std::uint32_t uid,
                                     const std::string& host, const std::string& unique);

/// %t: rank, %n: number of the node, %N: its name, %j: the job, %%: a percent sign.
/// Errors: usage: another letter.
Result<std::string> fill_in(const std::string& pattern, const Participant& me);
/// Does it name something else in each process?
bool differs_by_process(const std::string& pattern);

}  // namespace sickbay::ckpt
