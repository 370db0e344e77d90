// SPDX-License-Identifier: Apache-2.0
// What combine() rests on, for the merge and for the SQL that says the same over whole tables
// (workload/import/combine_sql.cc): which field of two records of one job counts.
#pragma once
#include <compare>

#include "workload/job/row.h"

namespace sickbay::workload {

/// How two records' values of one field become one.
enum class Joint : std::uint8_t {
  fill,  ///< the richer record's; where it has none, the other's
  life,  ///< likewise, but filled only where both have ended or neither has: a running job has no end yet
  most,  ///< the greater, since either record may have missed steps
  bits,  ///< both
  made,  ///< made anew from the others, or not to be combined (labels)
};
Joint joint_of(Num field);
Joint joint_of(Text field);

/// The states in which a job has ended, in Slurm's words.
bool is_ended(std::string_view state);

/// What makes a record richer, first difference first; absent numbers count as the smallest.
inline constexpr Num kRichness[] = {Num::end_time, Num::steps, Num::elapsed, Num::restarts, Num::total_cpu};

/// Greater: `a` is the richer one.  Order of evidence: the job's own row over one made from its steps, ended
/// over not, then kRichness.
std::strong_ordering compare_richness(const Row& a, const Row& b);

/// The flaws that follow from a job's own fields (all but unknown_state and in_future).
std::int64_t flaws_of(const Row& job);
/// Those bits.
std::int64_t derived_flaws();

}  // namespace sickbay::workload
