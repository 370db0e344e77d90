// SPDX-License-Identifier: Apache-2.0
// Recoveries and the restart tree as people read them.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

/// The cells of a plan, lowest first, where it begins and how long it is expected to take.
std::string plan_text(const Json& plan, const TextPage& page);
/// One recovery: the fault, its plan, what was done, how it ended.
std::string recovery_text(const Json& recovery, const TextPage& page);
/// {items}: one line each, the last one first.
std::string recoveries_text(const Json& list, const TextPage& page);
/// The answer of GET /v1/tree, drawn.
std::string tree_text(const Json& tree, const TextPage& page);

}  // namespace sickbay::cli
