// SPDX-License-Identifier: Apache-2.0
// smd_job_N_nodes.sh: the job's new nodes as shell commands, sourced before the next step.
//
// It lies in /tmp, where anybody may write, and a shell runs what it says.  So it is made anew under a name
// that nobody can guess (O_EXCL, O_NOFOLLOW, mode 0600) and renamed into its place: a link or file that
// another has put there is not followed and not written into.  Whoever sources it must see that it is his
// own (nonstop.sh, steps.sh and read_nodes_file do): the name is known, and another may have been first.
#pragma once
#include <cstdint>
#include <string>

#include "apps/smd/answers.h"

namespace sickbay::smd {

/// "/tmp/smd_job_17_nodes.sh"
std::string nodes_file_path(const std::string& folder, std::uint32_t job);

/// The commands: exports of SLURM_NODELIST, SLURM_JOB_NODELIST, SLURM_NNODES, SLURM_JOB_NUM_NODES and
/// SLURM_JOB_CPUS_PER_NODE (left out where not told), and unset SLURM_TASKS_PER_NODE, which would hold the
/// next srun to the old nodes.  Whatever is no plain character is escaped, so that nothing of a value is run:
/// "2\(x2\)".  Control characters, which nothing can escape, are left out.  Behind that what lets srun start
/// a step although the one that lost a node still has its CPUs and memory (doc/design/nonstop_slurm.md).
std::string nodes_file_text(const NodeSet& set);

/// Errors: not_found, denied (also: another user's file is there), storage_full, storage_broken.
Status write_nodes_file(const std::string& path, const std::string& text);

/// The file's text.  Errors: not_found; denied where it is not a plain file of this user's that only he may
/// write.
Result<std::string> read_nodes_file(const std::string& path);

}  // namespace sickbay::smd
