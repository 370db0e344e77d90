// SPDX-License-Identifier: Apache-2.0
// One job row and its steps become the job: sums, maxima, what was mended and what is wrong.
#pragma once
#include <vector>

#include "workload/job/arena.h"
#include "workload/job/row.h"

namespace sickbay::workload {

/// `job` may be null: then the job is made from its steps.  `steps` are different ones, in any order.
/// Missing is not 0: a sum or maximum of nothing is absent.
void fold(const Row* job, const std::vector<const Row*>& steps, bool duplicates, Arena& arena, Row& out);

}  // namespace sickbay::workload
