// SPDX-License-Identifier: Apache-2.0
// Runs of one submission, parted: PBS and TORQUE keep a job's ctime when they run it again, and write an R
// record where a run ended that another one follows.
//
// What Slurm makes of it is made of it here: each run is a row of its own, the later ones submitted when the
// one before ended, with a count of restarts.  Else the last run alone would be seen, and the hours of the
// others lost.  Invariant: the order of the records does not show in the result.
#pragma once
#include <vector>

#include "workload/job/row.h"

namespace sickbay::workload {

/// `jobs`: the rows of one id of one cluster, of kind job and part; `ends`: those of kind rerun.  Parts the
/// former at the latter, which become rows themselves where the log tells a begin of their run.  Rows that
/// are changed are copied to `made`, whose rows are pointed to.
void part_runs(std::vector<const Row*>& jobs, std::vector<const Row*> ends, std::vector<Row>& made);

}  // namespace sickbay::workload
