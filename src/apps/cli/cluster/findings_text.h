// SPDX-License-Identifier: Apache-2.0
// The pages about what the agents found: `sickbay findings`, and what `sickbay nodes NODE` tells of one node.
// Pure.
#pragma once
#include <string>
#include <vector>

#include "apps/cli/page.h"
#include "base/json.h"
#include "base/result.h"
#include "model/event.h"

namespace sickbay::cli {

/// "2 faults, 1 unknown" of a node of GET /v1/nodes; "" where nothing stands.
std::string findings_count(const Json& node);
/// What stands on the nodes `items`: the newest first, or the oldest, or one line for each rule.
enum class FindingsOrder { newest, oldest, by_rule };
Json standing_findings(const Json& items, FindingsOrder order);
std::string findings_text(const Json& findings, FindingsOrder order, const TextPage& page);
/// What is known of one node besides its row of GET /v1/nodes.
struct NodeMore {
  Result<Json> jobs = Json::array();     ///< jobs_on_node()
  Result<Json> faults = Json::object();  ///< GET /v1/faults of the node
  std::vector<Event> history;            ///< its last events
};
/// All of one node, behind its line in the table: findings, jobs, repairs, agent, and its last events.
std::string node_text(const Json& node, const NodeMore& more, const TextPage& page);

}  // namespace sickbay::cli
