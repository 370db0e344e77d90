// SPDX-License-Identifier: Apache-2.0
// sickbay verify --fleet: sickbayd verifies idle nodes, as jobs of its own (engine/patrol).
#pragma once
#include <string>

#include "apps/cli/page.h"
#include "base/json.h"
#include "base/result.h"

namespace sickbay::cli {

struct VerifyFleetOptions {
  std::string nodes;
  int budget = 0;  ///< 0: the site's
  bool dry_run = false, wait = false, stop = false, show = false, json = false;
};
/// The exit code: 1 where a node failed in the round that was waited for or shown.
Result<int> run_verify_fleet(const VerifyFleetOptions& options);

/// What would be taken (POST /v1/patrol with dry_run).  Pure.
std::string fleet_plan_text(const Json& plan, const TextPage& page);
/// A round of GET /v1/patrol: what was found, and why other nodes wait.  Pure.
std::string fleet_round_text(const Json& round, const TextPage& page);

}  // namespace sickbay::cli
