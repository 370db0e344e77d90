// SPDX-License-Identifier: Apache-2.0
// The nodes of a job, from logs that list them one by one, in hostlist form.
#pragma once
#include <string>
#include <vector>

#include "workload/job/arena.h"
#include "workload/job/row.h"

namespace sickbay::workload {

/// Sets node_list and nodes; names that no node can have are left out.  Sorts `names`.
void set_hosts(std::vector<std::string>& names, Arena& arena, Row& row);

}  // namespace sickbay::workload
