// SPDX-License-Identifier: Apache-2.0
#include "adapters/slurm/donor.h"

#include <fmt/format.h>

#include <algorithm>

#include "adapters/slurm/key_comment.h"
#include "base/hostlist.h"
#include "base/text.h"

namespace sickbay::slurm {
namespace {

/// Minutes until the job's limit: a donor that asked for more would wait for nothing.
std::uint32_t minutes_left(const RunningJob& job, TimePoint now) {
  if (job.time_limit_min == 0) return 0;
  const auto end = job.start + std::chrono::minutes(job.time_limit_min);
  const auto left = std::chrono::ceil<std::chrono::minutes>(end - now).count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 1, job.time_limit_min));
}

/// The GRES in a list like "gres:gpu:2" (22.05) or "cpu=2,gres/gpu:1": from 24.11 on --cpus-per-task stands
/// there, too.
std::string gres_in(std::string_view list) {
  std::string gres;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (!one.starts_with("cpu=") && !one.starts_with("cpu:") && !one.starts_with("mem="))
      gres += (gres.empty() ? "" : ",") + std::string(one);
  }
  return gres;
}

}  // namespace

Status can_grow(const RunningJob& job) {
  if (auto can = can_change(job); !can) return can;
  if (job.batch && !job.batch_host.empty() && std::ranges::find(job.nodes, job.batch_host) == job.nodes.end())
    return fail(Error(ErrorCode::conflict, fmt::format("job {} has lost its batch script", job.job_id))
                    .because(fmt::format("the script ran on {}, which the job has no more", job.batch_host))
                    .remedied_by("cancel the job and submit it again: nothing of it runs any more"));
  for (const std::string* list :
       {&job.gres, &job.tres_per_node, &job.tres_per_job, &job.tres_per_socket, &job.tres_per_task})
    if (const std::string gres = gres_in(*list); !gres.empty())
      return fail(
          Error(ErrorCode::conflict, fmt::format("job {} has GRES and cannot grow", job.job_id))
              .because(fmt::format("Slurm gives no node to a job that has GRES ({})", gres))
              .remedied_by("let the job go on without the node (drop it), or end it and submit it again"));
  return {};
}

Result<DonorRequest> donor_request(const RunningJob& job, const DonorOrder& order, TimePoint now) {
  if (auto can = can_grow(job); !can) return fail(std::move(can.error()));
  if (order.nodes == 0)
    return fail(Error(ErrorCode::bad_input, "a donor of no nodes").remedied_by("ask for at least one node"));
  if (!order.node_list.empty() && order.node_list.size() != order.nodes)
    return fail(ErrorCode::bad_input,
                fmt::format("a donor of {} nodes cannot be on the {} nodes {}", order.nodes,
                            order.node_list.size(), compress_hostlist(order.node_list)));
  if (!order.reservation.empty() && !order.immediate)
    return fail(Error(ErrorCode::bad_input, "a donor cannot wait in the reservation " + order.reservation)
                    .because("its owner leaves the reservation again, and then it would wait for ever")
                    .remedied_by("ask for it immediately"));

  DonorRequest r;
  r.name = "sickbay-donor-" + std::to_string(job.job_id);
  r.comment = comment_with_key("", order.key);
  r.submit_line = "sickbay " + r.comment;
  r.dependency = fmt::format("expand:{}", job.job_id);
  r.uid = job.uid;
  r.gid = job.gid;
  r.account = job.account;
  r.partition = job.partition;
  r.qos = job.qos;
  // A job in a reservation gets its node from there, unless a spare pool is named.
  r.reservation = order.reservation.empty() ? job.reservation : order.reservation;
  r.features = job.features;
  r.nodes = order.nodes;
  // On each node as many CPUs as the best lost one had: the donor's request is the same for all its nodes.
  const auto has = ungroup_cpus(job.cpus_per_node);
  const auto& lost = order.cpus.empty() ? has : order.cpus;
  r.cpus_per_node = lost.empty() ? 1 : std::max(1U, *std::ranges::max_element(lost));
  r.tasks_per_node = job.tasks_per_node;
  r.cpus_per_task = job.cpus_per_task;
  r.threads_per_core = job.threads_per_core;
  r.core_spec = job.core_spec;
  r.memory_mib = job.memory_mib;
  r.memory_per_cpu = job.memory_per_cpu;
  r.oversubscribe = job.oversubscribe;
  // Its own nodes and those that its owner excluded: Slurm would give them if they have room.
  r.exclude = hosts_in_either(sorted_hosts(job.nodes), sorted_hosts(order.exclude));
  r.exclude = hosts_in_either(r.exclude, sorted_hosts(job.excluded));
  r.node_list = sorted_hosts(order.node_list);
  if (const auto both = hosts_in_both(r.exclude, r.node_list); !both.empty())
    return fail(ErrorCode::bad_input,
                fmt::format("{} cannot be both asked for and excluded", compress_hostlist(both)));
  r.time_limit_min = minutes_left(job, now);
  r.immediate = order.immediate;
  return r;
}

bool differs(const SparePool& is, const SparePool& wanted) {
  return sorted_hosts(is.nodes) != sorted_hosts(wanted.nodes) ||
         sorted_hosts(is.users) != sorted_hosts(wanted.users);
}

}  // namespace sickbay::slurm
