// SPDX-License-Identifier: GPL-2.0-or-later
// A job as the parent names it, and the look by which it is told from a stranger of the same number.
#pragma once
#include <optional>
#include <string>

#include "adapters/slurm/child/records.h"
#include "base/json.h"
#include "base/result.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// A JobHandle as it comes over the socket.
struct Handle : JobHandle {
  explicit Handle(const Json& args) : JobHandle(from_json(args)) {}
  /// Whether `job` is the one meant.  Its key says so; a job without one (a user's own first run) is known
  /// by its submit time, which only a requeue changes.  A job of ours (root's) with the key is meant, too.
  bool means(const JobInfo& job) const;
};

/// The user's jobs that hold `key`, and from 24.11 on ours, too: donors, which 22.05 makes their owner's, as
/// asked. Lowest id first, also those that have ended.
Result<std::vector<JobInfo>> jobs_with_key(const std::string& key, std::uint32_t uid);
/// The job of `id`, or nothing when slurmctld does not know it.
Result<std::optional<JobInfo>> read_job(JobId id);
bool is_over(const JobInfo& job);
tl::unexpected<Error> stranger(const Handle& handle);
tl::unexpected<Error> no_such_job(JobId id);

/// slurm.h's structures want char*, and never write to what they are given.
inline char* c_text(const std::string& s) { return s.empty() ? nullptr : const_cast<char*>(s.c_str()); }

}  // namespace sickbay::slurm
