// SPDX-License-Identifier: Apache-2.0
// The pages about the cluster and the daemon: `sickbay nodes`, `sickbay spares` and `sickbay status`.  Pure.
#pragma once
#include <string>
#include <vector>

#include "apps/cli/page.h"
#include "base/json.h"
#include "base/result.h"

namespace sickbay::cli {

/// The items of GET /v1/nodes that `wanted` names (all when empty), in its order.
/// Errors: not_found for a name that no node has, with the nearest one.
Result<Json> chosen_nodes(const Json& list, const std::vector<std::string>& wanted);

/// The table of `items`, which chosen_nodes() took from `list`, and below it what there is to say of some of
/// them.  Whose agent has other rules than most agents of the whole list is marked.
std::string nodes_text(const Json& items, const Json& list, const TextPage& page);
/// The pools of GET /v1/spares, and below them what there is to say of some.
std::string spares_text(const Json& list, const TextPage& page);
std::string status_text(const Json& status, const TextPage& page);
/// The journal takes events and slurmctld answers; of two sickbayds, both have all that is acknowledged.
bool status_is_good(const Json& status);

}  // namespace sickbay::cli
