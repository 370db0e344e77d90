// SPDX-License-Identifier: Apache-2.0
// What slurmctld says of a job that waits.  This cluster has no features, reservations, accounts or estimates
// of a start; what it has is told as adapters/slurm tells it.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"

namespace sickbay::sim {

Result<PendingFacts> SimCluster::pending_facts(JobId job_id) const {
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end())
    return fail(ErrorCode::not_found, fmt::format("slurmctld knows no job {}", job_id));
  const Job& job = *found->second;
  PendingFacts facts;
  facts.job_id = job_id;
  facts.uid = job.info.uid;
  facts.state = job.info.state;
  if (!job.pending()) return facts;
  facts.reason = job.info.reason;
  facts.held = job.info.held;

  const auto names_of = [this](const std::vector<NodeIndex>& nodes) {
    std::vector<std::string> names;
    for (const NodeIndex node : nodes) names.push_back(nodes_[node].name);
    return sorted_hosts(std::move(names));
  };
  PendingRequest& request = facts.request;
  request.min_nodes = job.info.num_nodes;
  request.required = names_of(job.only);
  request.excluded = names_of(job.exclude);
  request.time_limit_s = job.info.time_limit_s;
  request.begin = job.eligible;

  const SimPartition& partition = options_.partitions[job.partition];
  facts.partition_names = partition.name;
  PendingPartition& shown = facts.partitions.emplace_back();
  shown.name = partition.name;
  shown.state = "UP";
  shown.max_time_s = partition.max_time_s;
  shown.total_nodes = static_cast<std::uint32_t>(partition_nodes_[job.partition].size());
  std::vector<NodeOffer> offers;
  for (const NodeIndex index : partition_nodes_[job.partition]) {
    const NodeInfo node = info_of(index);
    NodeOffer offer;
    offer.name = node.name;
    if (const auto state = parse_node_state(node.state, node.flags)) offer.state = *state;
    offer.cpus = node.cpus;
    offer.reason = node.reason;
    offers.push_back(std::move(offer));
  }
  facts.nodes = sort_nodes(request, offers);
  return facts;
}

}  // namespace sickbay::sim
