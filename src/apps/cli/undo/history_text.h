// SPDX-License-Identifier: Apache-2.0
// A history as people read it: the tree, drawn, and what failures cost.  Pure: view and page in, text out.
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"

namespace sickbay::cli {

/// The answer of GET /v1/history.
std::string history_text(const Json& view, const TextPage& page);
/// The checkpoints in it, one line each, newest first.
std::string checkpoints_text(const Json& view, const TextPage& page);
/// The answer of GET /v1/acts.
std::string acts_text(const Json& list, const TextPage& page);

}  // namespace sickbay::cli
