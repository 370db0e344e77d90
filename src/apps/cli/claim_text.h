// SPDX-License-Identifier: Apache-2.0
// How a claim reads (doc/formats/api.md, `claim`): which engine may act on a node or on a job, for whom, and
// why.
#pragma once
#include <string>
#include <string_view>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

/// "identify for c17 since 2026-11-21 10:00:00 (2 min): finds out why it failed"; "" where nobody holds one.
/// `on`: what it is on, "node:n3"; an engine that holds it for that alone is not said to hold it for another.
/// To be made harmless by who prints it: paragraph() does.
std::string claim_text(const Json& claim, std::string_view on, const TextPage& page);

}  // namespace sickbay::cli
