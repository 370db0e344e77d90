// SPDX-License-Identifier: Apache-2.0
#include "ports/node_replacement.h"

namespace sickbay {

Json DonorOrder::to_json() const {
  Json::Array counts;
  for (const std::uint32_t n : cpus) counts.push_back(n);
  return Json::object({{"job", job.to_json()},
                       {"key", key},
                       {"nodes", nodes},
                       {"cpus", std::move(counts)},
                       {"exclude", exclude},
                       {"reservation", reservation},
                       {"pool_users", pool_users},
                       {"node_list", node_list},
                       {"immediate", immediate},
                       {"again", again}});
}

DonorOrder DonorOrder::from_json(const Json& json) {
  DonorOrder order;
  order.job = JobHandle::from_json(json["job"]);
  order.key = json["key"].as_string();
  order.nodes = static_cast<std::uint32_t>(json["nodes"].as_int(1));
  for (const Json& n : json["cpus"].items()) order.cpus.push_back(static_cast<std::uint32_t>(n.as_int()));
  order.exclude = json["exclude"].as_strings();
  order.reservation = json["reservation"].as_string();
  if (json["pool_users"].size() > 0) order.pool_users = json["pool_users"].as_strings();
  order.node_list = json["node_list"].as_strings();
  order.immediate = json["immediate"].as_bool(true);
  order.again = json["again"].as_bool();
  return order;
}

}  // namespace sickbay
