// SPDX-License-Identifier: Apache-2.0
// All rows of one job id, in any order, become one row per job, with what could be mended mended.
//
// Pure, and the result does not depend on the order of the rows: a shuffled log gives the same jobs.  The key
// of a job is (cluster, job id, submit time): ids wrap, and requeued or resized jobs repeat theirs
// (design/workload.md, step 2).
#pragma once
#include "workload/job/arena.h"
#include "workload/job/row.h"
#include "workload/job/rows.h"

namespace sickbay::workload {

/// `rows`: every row of the records that readers gave the same hash of a job (hashes may collide: rows of
/// other ids are kept apart).  Adds to `jobs` one row of kind job for each key; all its fields with a store
/// column are final but those of labels.  Texts point where those of `rows` do, or into `arena`.
void merge(Rows& rows, Arena& arena, Rows& jobs);

/// The fields that jobs of merge() may have whose rows have no others than `told`: perhaps too many, never
/// too few.
FieldSet fields_of_jobs(const FieldSet& told);

/// Of two states of knowledge about one job (two imports), the one row that both give, whichever comes first:
/// the richer record (ended over running, later end, more steps), its absent fields filled from the other.
void combine(const Row& a, const Row& b, Row& out);

}  // namespace sickbay::workload
