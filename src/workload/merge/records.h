// SPDX-License-Identifier: Apache-2.0
// The records of a job that must be kept for the imports to come, because the job as it stands does not say
// all that they say.
//
// A log that tells runs one by one (PBS, TORQUE, SGE) may be cut anywhere: the end of a first run (R) comes
// in one import, its begin (S) and the job's end (E) in others.  A job whose records were put together cannot
// be parted again, so its records are kept until they say no more than the job does.  Nearly all jobs are
// settled in the import that sees them end, and keep nothing.
#pragma once
#include <span>
#include <vector>

#include "workload/job/row.h"
#include "workload/job/rows.h"

namespace sickbay::workload {

/// A row of a job as a whole or of a part of it; not of a step, and not the end of a run.
constexpr bool is_of_job(RowKind kind) {
  return kind == RowKind::job || kind == RowKind::part || kind == RowKind::known;
}

/// Negative, 0, positive: a total order over all that two rows say; rows that compare equal are the same row.
int compare_rows(const Row& a, const Row& b);

/// Whether the jobs that merge() makes of `rows`, all of one id of one cluster, stand for them in a later
/// merge, as rows of kind known: no run was ended by another one, each submission has ended, and all that is
/// told of it is told of one run.
bool is_settled(std::span<const Row* const> rows);

/// Adds to `out` each of `rows` once, in an order that is not theirs; rows that differ in their labels alone
/// are one.  One that is there twice has Repair::duplicate_rows with `mark`; without, it has it where one of
/// them had.
void take_distinct(std::span<const Row* const> rows, bool mark, Rows& out);

/// Adds to `out` what take_distinct() was given, as merge() wants it: without marks and labels, and twice
/// what came twice.
void give_as_logged(const Rows& distinct, Rows& out);

}  // namespace sickbay::workload
