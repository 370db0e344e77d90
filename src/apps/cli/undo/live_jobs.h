// SPDX-License-Identifier: Apache-2.0
// Jobs of this user that Slurm still has, and their end: what must not go on writing while its folder is put
// back to what it was.  By the user's own squeue and scancel.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/ids.h"

namespace sickbay::cli {

struct LiveJob {
  JobId job = 0;
  std::string state, folder, comment;
};

/// The lines of squeue, as kSqueueFormat asks for them; lines of another form are passed over.
inline constexpr const char* kSqueueFormat = "%A %T\t%Z\t%k";
std::vector<LiveJob> parse_live_jobs(std::string_view text);

/// Those that are in the history of `jobs`, and runs of Sickbay's own, for one of `cases`, in `folder`.
std::vector<LiveJob> concerning(std::vector<LiveJob> all, std::span<const JobId> jobs,
                                std::span<const std::string> cases, const std::string& folder);

/// All of this user's.  Errors: missing_program, slurm_away (squeue failed).
Result<std::vector<LiveJob>> live_jobs();

/// Ends them and waits until Slurm has none of them any more: they write nothing then.  Errors: those of
/// live_jobs(), refused_by_slurm (scancel failed), timed_out.
Status end_jobs(const std::vector<LiveJob>& jobs, std::chrono::seconds patience = std::chrono::seconds(180));

}  // namespace sickbay::cli
