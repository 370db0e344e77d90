// SPDX-License-Identifier: Apache-2.0
// For whom free nodes are to be kept: partitions in which jobs wait that more free nodes would start.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "ports/resource_manager.h"

namespace sickbay {

/// Held jobs, those that wait for others, for a time or for a limit of their account are none of these.
std::set<std::string> wanted_partitions(const std::vector<WaitingJobs>& queue);

}  // namespace sickbay
