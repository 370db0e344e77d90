// SPDX-License-Identifier: Apache-2.0
// The phases of one node.  Each works alone, reports what it found, and never stops the next one.
#pragma once
#include "options.h"
#include "report.h"

namespace sickbay::verify {

/// Arithmetic with published sums, on each processor and over a second or more; slow when the node withholds
/// processor time (withheld.h).  Value: million pairs a second of the best slice.
Finding cpu_phase(const Options& options);
/// Patterns over memory: walking ones, address in address, random with a second reading.  Value: MiB tested.
Finding memory_phase(const Options& options);
/// Triad a = b + s*c, results checked.  Value: MB/s of the best round.
Finding membw_phase(const Options& options);
/// Writes, syncs, reads back and compares a file.  Value: MB/s written, sync included.
Finding disk_phase(const Options& options);

/// The shared file systems and the job's folder (storage_phase.h).  Value: seconds until all answered.
Finding storage_phase(const Options& options);

/// The phases of `options` in their order.
void run_node(const Options& options, Reporter& reporter);
/// All pairs by MPI (net_phase.cc).  Returns the exit code; may end the process when a peer went silent.
int run_net(const Options& options, const Baseline& baseline, int* argc, char*** argv);

/// Name of this node: SLURMD_NODENAME, else the host name up to its first dot.
std::string node_name();
/// SLURM_PROCID; 0 outside of Slurm.
int rank_of_slurm();

}  // namespace sickbay::verify
