// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/job_handle.h"

#include <fmt/format.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/key_comment.h"
#include "model/slurm_state.h"

namespace sickbay::slurm {

bool Handle::means(const JobInfo& job) const {
  // From 24.11 on an allocation is its caller's, whatever owner he names: donors are ours.
  const bool is_his = job.uid == uid || (!key.empty() && job.uid == getuid());
  if (job.job_id != job_id || !is_his) return false;
  // A requeue changes the submit time (tried): then number and owner must do, where the job has begun anew.
  const bool same_time = submit == job.submit || job.restart_cnt > 0;
  if (key.empty()) return submit != kNoTime && same_time;
  return holds_key(job.comment, key) && (submit == kNoTime || same_time);
}

Result<std::vector<JobInfo>> jobs_with_key(const std::string& key, std::uint32_t uid) {
  std::vector<std::uint32_t> owners = {uid};
  if (!kAllocatesForOthers && uid != getuid()) owners.push_back(getuid());
  std::vector<JobInfo> found;
  for (const std::uint32_t owner : owners) {
    job_info_msg_t* raw = nullptr;
    if (slurm_load_job_user(&raw, owner, kJobs) != SLURM_SUCCESS) {
      // slurmctld answers so for a user it has no job of.
      if (errno == ESLURM_INVALID_JOB_ID) continue;
      return fail(slurm_error(errno, CallKind::look, "looking for " + key));
    }
    const Jobs answer(raw);
    for (std::uint32_t i = 0; i < answer->record_count; ++i) {
      slurm_job_info_t& record = answer->job_array[i];
      if (record.comment && holds_key(record.comment, key)) found.push_back(job_info(record));
    }
  }
  std::ranges::sort(found, {}, &JobInfo::job_id);
  return found;
}

Result<std::optional<JobInfo>> read_job(JobId id) {
  job_info_msg_t* raw = nullptr;
  if (load_job(&raw, id, kJobs) != SLURM_SUCCESS) {
    if (errno == ESLURM_INVALID_JOB_ID) return std::optional<JobInfo>();
    return fail(slurm_error(errno, CallKind::look, fmt::format("reading job {}", id)));
  }
  const Jobs answer(raw);
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    if (answer->job_array[i].job_id == id) return std::optional<JobInfo>(job_info(answer->job_array[i]));
  return std::optional<JobInfo>();
}

bool is_over(const JobInfo& job) {
  const auto state = parse_job_state(job.state, job.flags);
  return state && is_terminal(*state);
}

tl::unexpected<Error> stranger(const Handle& handle) {
  return fail(Error(ErrorCode::not_found, fmt::format("job {} is not ours", handle.job_id))
                  .because(fmt::format("its owner, submit time or comment is not that of {}",
                                       handle.key.empty() ? "the job meant" : "sickbay:" + handle.key)));
}

tl::unexpected<Error> no_such_job(JobId id) {
  return fail(ErrorCode::not_found, fmt::format("slurmctld knows no job {}", id));
}

}  // namespace sickbay::slurm
