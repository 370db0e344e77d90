// SPDX-License-Identifier: GPL-2.0-or-later
// Spare pools: reservations of nodes that wait to replace others.
#pragma once
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace sickbay::slurm {

/// Args: {partition, reservation, nodes, users}; answers the same of what is.
Result<Json> set_spare_pool(const Json& args);
/// All pools, by name.
Result<Json> list_spare_pools(const Json& args);

/// Lets the user in besides `users`.  Errors: not_found (no such reservation).
Status join_pool(const std::string& reservation, std::vector<std::string> users, std::uint32_t uid);
/// Only these from now on.
Status set_pool_users(const std::string& reservation, const std::vector<std::string>& users);

}  // namespace sickbay::slurm
