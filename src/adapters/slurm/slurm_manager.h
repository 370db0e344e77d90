// SPDX-License-Identifier: Apache-2.0
// ResourceManager on a real cluster: sickbay-slurm for libslurm's calls, sbatch, sacct and scontrol for the
// rest.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "model/job.h"
#include "ports/loop.h"
#include "ports/process_runner.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

struct SlurmOptions {
  std::string slurm_conf = "/etc/slurm/slurm.conf";
  std::string child_path;  ///< sickbay-slurm; empty: beside the executable, else in libexec
  Owner service_account;   ///< V runs as it
  std::string sbatch_path = "/usr/bin/sbatch", sacct_path = "/usr/bin/sacct",
              scontrol_path = "/usr/bin/scontrol", mkdir_path = "/bin/mkdir";
  std::chrono::milliseconds call_limit{30000};     ///< of one call; the child is killed then
  std::function<void(std::string_view line)> log;  ///< what libslurm writes to stderr; may be empty
};

/// The cluster of `options.slurm_conf`.  Nothing is asked of it yet; the child starts with the first call.
/// Both `loop` and `runner` must outlive it; calls that are under way when it is destroyed are not answered.
/// Errors: missing_program (no sickbay-slurm), not_found (no slurm.conf).
Result<std::unique_ptr<ResourceManager>> make_slurm_manager(Loop& loop, ProcessRunner& runner,
                                                            SlurmOptions options);

}  // namespace sickbay::slurm
