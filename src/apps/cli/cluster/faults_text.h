// SPDX-License-Identifier: Apache-2.0
// The accounts of faults and repairs (GET /v1/faults) as pages: `sickbay findings --history`, and the repairs
// of `sickbay nodes NODE`.  Pure.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

/// What is added up: nothing, all nodes of a rule, or all rules of a node; by month in any case.
enum class FaultsBy { all, rule, node };
/// Rows of GET /v1/faults, of these nodes alone where some are named (expanded), added up.
Json counted_faults(const Json& items, const std::vector<std::string>& nodes, FaultsBy by);
std::string faults_text(const Json& rows, FaultsBy by, const TextPage& page);

/// The last repairs of a node, a line each; "none" where there was none.
std::string repairs_text(const Json& repairs, const TextPage& page);

}  // namespace sickbay::cli
