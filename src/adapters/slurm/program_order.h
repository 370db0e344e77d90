// SPDX-License-Identifier: Apache-2.0
// P's re-run as a command line: the user's own sbatch, held, with our key, on nodes of Slurm's choice.
//
// Pure.  The user's options stay as they were, but for those that would tie the re-run to the first run's
// nodes or keep it from starting: they are dropped, wherever they were given (command line, #SBATCH line,
// SBATCH_* variable), and reported.  sbatch itself runs in an environment of ours, because its variables
// choose libraries, plugins and slurm.conf; the job gets the user's by --export-file.
//
// Tried on 22.05: with --export-file sbatch passes nothing else on, so SLURM_JOB_NAME, SLURM_HINT,
// SLURM_EXPORT_ENV and the SLURM_RLIMIT_* that carry the user's limits must be in the file.
// Source: doc/design/decisions.md 17, 19.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ports/process_runner.h"
#include "ports/resource_manager.h"

namespace sickbay::slurm {

/// What a submission must know of the site.
struct SbatchSite {
  std::string sbatch = "/usr/bin/sbatch";
  std::string slurm_conf;
  /// PropagateResourceLimits and PropagateResourceLimitsExcept of slurm.conf, comma lists.
  std::string propagate = "ALL", propagate_except;
  /// False: the job's folder is not on this host, where no home may be mounted.  sbatch then runs elsewhere,
  /// and the output goes beside where its folder would be, which only the nodes can write.
  bool folder_is_here = true;
};

struct ProgramSubmission {
  ProcessSpec spec;
  std::vector<std::string> dropped;  ///< "--nodelist=n1", "#SBATCH --hold", "SBATCH_WAIT=1"
};

/// The sbatch of `order`.  Errors: bad_input (options or #SBATCH lines that sbatch itself would refuse, a
/// heterogeneous job, another cluster): such a job cannot be run again.
Result<ProgramSubmission> program_submission(const ProgramOrder& order, const SbatchSite& site);

/// The job id that `sbatch --parsable` printed ("17", "17;cluster").  Errors: bad_input.
Result<JobId> parse_parsable(std::string_view out);
/// What a failed sbatch means: slurm_away, timed_out, munge_away, or refused_by_slurm with its words.
Error sbatch_error(const ProcessOutcome& outcome);

/// A folder as the first part of a file name pattern of Slurm's, which reads '%' in a way of its own.
std::string as_pattern(std::string_view path);

}  // namespace sickbay::slurm
