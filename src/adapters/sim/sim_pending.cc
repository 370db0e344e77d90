// SPDX-License-Identifier: Apache-2.0
// What slurmctld says of a job that waits.  This cluster has no accounts or estimates of a start; what it has
// is told as adapters/slurm tells it.
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
  facts.request.array_job = job.info.array_job_id;
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
  request.features = job.constraint;
  request.reservation = job.reservation;
  request.dependency = dependency_text(job);

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
    offer.features = nodes_[index].features;
    const SimReservation* reserved = reservation_of(index, loop_.now(), loop_.now());
    offer.in_reservation = reserved && reserved->name == job.reservation;
    offers.push_back(std::move(offer));
  }
  facts.nodes = sort_nodes(request, offers);
  for (const SimReservation& reservation : reservations_) {
    if (reservation.end <= loop_.now() || reservation.name == job.reservation) continue;
    auto names = sorted_hosts(*expand_hostlist(reservation.nodes));
    std::erase_if(names, [&](const std::string& name) { return !fits(job, index_of(name)); });
    if (names.empty()) continue;
    facts.reservations.push_back({.name = reservation.name,
                                  .start = reservation.start,
                                  .end = reservation.end,
                                  .nodes = compress_hostlist(names),
                                  .count = static_cast<std::uint32_t>(names.size())});
  }
  return facts;
}

}  // namespace sickbay::sim
