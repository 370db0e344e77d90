// SPDX-License-Identifier: Apache-2.0
// Nodes in and out of running jobs: donors, drops, limits, the FAIL state, spare pools.
//
// As tried on 22.05 (doc/design/nonstop_slurm.md): a job with --no-kill loses a DOWN node and goes on, unless
// its batch script ran there; a donor that gave its nodes away ends.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"

namespace sickbay::sim {
namespace {

NodeSet set_of(const RunningJob& job) { return {job.nodes, job.cpus_per_node}; }

}  // namespace

RunningJob SimCluster::running_job_of(const Job& job) const {
  RunningJob seen;
  seen.job_id = job.info.job_id;
  seen.uid = seen.gid = job.info.uid;
  seen.submit = job.info.submit;
  seen.start = job.info.start;
  seen.name = job.info.name;
  seen.state = job.info.state;
  seen.flags = job.info.flags;
  for (const NodeIndex node : job.on) seen.nodes.push_back(nodes_[node].name);
  if (!job.on.empty()) {
    seen.cpus_per_node = {{options_.cpus, static_cast<std::uint32_t>(job.on.size())}};
    seen.batch_host = seen.nodes.front();
  }
  seen.batch = job.expands == 0;
  seen.time_limit_min = job.info.time_limit_s / 60;
  seen.partition = job.info.partition;
  seen.reservation = job.reservation;
  seen.features = job.constraint;
  seen.oversubscribe = "NO";
  seen.array_job_id = job.info.array_job_id;
  seen.array_task_id = job.info.array_task_id;
  return seen;
}

/// After a change of its nodes.
void SimCluster::resized(Job& job) {
  std::vector<std::string> names;
  for (const NodeIndex node : job.on) names.push_back(nodes_[node].name);
  job.info.nodes = compress_hostlist(names);
  job.info.num_nodes = static_cast<std::uint32_t>(job.on.size());
  set_pace(job);
  tell(job);
}

void SimCluster::take_node(Job& job, NodeIndex node) {
  std::erase(job.on, node);
  nodes_[node].job = 0;
  node_changed(node);
  resized(job);
  schedule_soon();
}

void SimCluster::running_jobs(std::vector<JobId> also, Done<std::vector<RunningJob>> done) {
  answer<std::vector<RunningJob>>("running_jobs", std::move(done), [this, also = std::move(also)] {
    std::vector<RunningJob> found;
    for (const auto& [job_id, job] : jobs_) {
      // (A donor is not a user's job.)
      if (!job->running() || job->expands != 0) continue;
      if (job->on.size() > 1 || std::count(also.begin(), also.end(), job_id) > 0)
        found.push_back(running_job_of(*job));
    }
    return Result<std::vector<RunningJob>>(std::move(found));
  });
}

void SimCluster::running_job(JobHandle handle, Done<RunningJob> done) {
  answer<RunningJob>("running_job", std::move(done),
                     [this, handle = std::move(handle)]() -> Result<RunningJob> {
                       const auto job = job_of(handle);
                       if (!job) return fail(job.error());
                       return running_job_of(**job);
                     });
}

Result<Donor> SimCluster::make_donor(const DonorOrder& order) {
  const auto found = job_of(order.job);
  if (!found) return fail(found.error());
  const Job& job = **found;
  if (auto can = can_change(running_job_of(job)); !can) return fail(std::move(can.error()));
  const auto shown = [this](const Job& donor) {
    Donor seen{donor.info.job_id, donor.info.submit, donor.info.state, {}, donor.info.expected_start};
    for (const NodeIndex node : donor.on) seen.nodes.push_back(nodes_[node].name);
    return seen;
  };
  // Its answer may have been lost: then the donor is there, under its key.
  if (order.again)
    if (const auto ids = by_key_.find(order.key); ids != by_key_.end())
      for (const JobId job_id : ids->second)
        if (const Job& donor = *jobs_.at(job_id); !donor.ended()) return shown(donor);

  SimRequest request;
  request.name = fmt::format("sickbay-donor-{}", job.info.job_id);
  request.partition = job.info.partition;
  request.comment = "sickbay:" + order.key;
  request.constraint = job.constraint;
  request.reservation = order.reservation.empty() ? job.reservation : order.reservation;
  request.nodes = order.nodes;
  request.nodelist = sorted_hosts(order.node_list);
  request.exclude = sorted_hosts(order.exclude);
  request.output = "/dev/null";
  // It belongs to this one exchange: put back into the queue it would take nodes that nobody waits for.
  request.requeue = false;
  request.time_limit_s = job.info.time_limit_s;
  auto made = std::make_unique<Job>();
  made->info.uid = job.info.uid;
  made->info.work_dir = job.info.work_dir;
  made->script = "#!/bin/sh\n#SIM hang\n";
  made->expands = job.info.job_id;
  made->priority = kTopPriority;

  // The owner is a user of the pool for the length of this call.
  const auto pool = std::find_if(reservations_.begin(), reservations_.end(),
                                 [&](const SimReservation& r) { return r.name == order.reservation; });
  const bool guest = pool != reservations_.end();
  if (guest) pool->users.push_back(job.info.uid);
  // Whether it could start now is asked of a job like it, so that a refused one leaves no trace.
  Job trial;
  trial.info.num_nodes = order.nodes;
  trial.info.time_limit_s = job.info.time_limit_s;
  trial.partition = job.partition;
  trial.constraint = request.constraint;
  trial.reservation = request.reservation;
  for (const std::string& name : request.exclude)
    if (const auto index = node_index_.find(name); index != node_index_.end())
      trial.exclude.push_back(index->second);
  for (const std::string& name : request.nodelist)
    if (const auto index = node_index_.find(name); index != node_index_.end())
      trial.only.push_back(index->second);
  std::sort(trial.exclude.begin(), trial.exclude.end());
  std::sort(trial.only.begin(), trial.only.end());
  const bool now = allocate(trial);
  Result<Submitted> submitted =
      fail(Error(ErrorCode::busy, fmt::format("no node is free for job {}", job.info.job_id)));
  if (now || !order.immediate) submitted = accept(std::move(request), std::move(made));
  if (guest) pool->users.pop_back();
  if (!submitted) return fail(submitted.error());
  Job& donor = *jobs_.at(submitted->job_id);
  priorities_ = true;
  if (now) start_tasks(donor);
  return shown(donor);
}

void SimCluster::allocate_donor(DonorOrder order, Done<Donor> done) {
  answer<Donor>("allocate_donor", std::move(done),
                [this, order = std::move(order)] { return make_donor(order); });
}

Result<NodeSet> SimCluster::give(const JobHandle& handle, const JobHandle& donor_handle,
                                 const std::vector<std::string>& nodes) {
  const auto found = job_of(handle);
  if (!found) return fail(found.error());
  Job& job = **found;
  if (auto can = can_change(running_job_of(job)); !can) return fail(std::move(can.error()));
  const RunningJob before = running_job_of(job);
  // They are the job's already: an earlier call came through and its answer was lost.
  if (hosts_without(sorted_hosts(nodes), sorted_hosts(before.nodes)).empty()) return set_of(before);
  const auto given = job_of(donor_handle);
  if (!given || (*given)->ended())
    return fail(ErrorCode::not_found, fmt::format("donor {} is gone", donor_handle.job_id));
  Job& donor = **given;
  if (donor.pending())
    return fail(ErrorCode::busy, fmt::format("donor {} still waits for its nodes", donor_handle.job_id));
  for (const NodeIndex node : donor.on) {
    nodes_[node].job = job.info.job_id;
    job.on.push_back(node);
  }
  // (The batch script stays where it is: in front.)
  donor.on.clear();
  end(donor, {.state = "COMPLETED", .reason = "None"});
  resized(job);
  return set_of(running_job_of(job));
}

void SimCluster::give_donor(JobHandle job, JobHandle donor, std::vector<std::string> nodes,
                            Done<NodeSet> done) {
  answer<NodeSet>("give_donor", std::move(done),
                  [this, job = std::move(job), donor = std::move(donor), nodes = std::move(nodes)] {
                    return give(job, donor, nodes);
                  });
}

void SimCluster::drop_nodes(JobHandle handle, std::vector<std::string> nodes, Done<NodeSet> done) {
  answer<NodeSet>("drop_nodes", std::move(done),
                  [this, handle = std::move(handle), nodes = std::move(nodes)]() -> Result<NodeSet> {
                    const auto job = job_of(handle);
                    if (!job) return fail(job.error());
                    if (auto left = nodes_left(running_job_of(**job), nodes); !left)
                      return fail(std::move(left.error()));
                    for (const std::string& name : nodes)
                      if (const auto node = node_index_.find(name);
                          node != node_index_.end() && nodes_[node->second].job == handle.job_id)
                        take_node(**job, node->second);
                    return set_of(running_job_of(**job));
                  });
}

void SimCluster::set_time_limit(JobHandle handle, std::int64_t minutes, Done<std::int64_t> done) {
  answer<std::int64_t>("set_time_limit", std::move(done),
                       [this, handle = std::move(handle), minutes]() -> Result<std::int64_t> {
                         const auto found = job_of(handle);
                         if (!found) return fail(found.error());
                         Job& job = **found;
                         if (auto can = can_change(running_job_of(job)); !can)
                           return fail(std::move(can.error()));
                         loop_.cancel(job.limit_timer);
                         job.info.time_limit_s = minutes * 60;
                         if (minutes > 0)
                           job.limit_timer =
                               // The limit counts from the start; one that has passed already ends the job
                               // now.
                               loop_.at(std::max(loop_.now(), job.started + std::chrono::minutes(minutes)),
                                        [this, job_id = handle.job_id] { time_is_up(*jobs_.at(job_id)); });
                         tell(job);
                         return minutes;
                       });
}

void SimCluster::fail_node(std::string name, std::string reason, Done<bool> done) {
  answer<bool>("fail_node", std::move(done),
               [this, name = std::move(name), reason = std::move(reason)]() -> Result<bool> {
                 const auto found = node_index_.find(name);
                 if (found == node_index_.end())
                   return fail(ErrorCode::not_found, fmt::format("Invalid node name specified: {}", name));
                 Node& node = nodes_[found->second];
                 if (node.fail) return false;
                 if (!node.reason.empty() && !node.reason.starts_with("sickbay:"))
                   return fail(Error(ErrorCode::conflict, fmt::format("node {} has another reason", name))
                                   .because(node.reason));
                 node.fail = true;
                 node.reason = reason;
                 node.reason_uid = 0;
                 node_changed(found->second);
                 return true;
               });
}

void SimCluster::unfail_node(std::string name, std::string prefix, Done<bool> done) {
  answer<bool>(
      "unfail_node", std::move(done),
      [this, name = std::move(name), prefix = std::move(prefix)]() -> Result<bool> {
        const auto found = node_index_.find(name);
        if (found == node_index_.end())
          return fail(ErrorCode::not_found, fmt::format("Invalid node name specified: {}", name));
        Node& node = nodes_[found->second];
        if (!node.fail) return false;
        if (!node.reason.starts_with(prefix) || node.down || node.drain)
          return fail(Error(ErrorCode::conflict, fmt::format("the state of node {} is not ours", name))
                          .because(node.reason));
        node.fail = false;
        node.reason.clear();
        node_changed(found->second);
        schedule_soon();
        return true;
      });
}

SparePool SimCluster::make_pool(const SparePool& wanted) {
  const auto changed = [this](const std::string& hosts) {
    const auto names = expand_hostlist(hosts);
    for (const std::string& name : *names) node_changed(index_of(name));
  };
  // Nodes that leave the pool change their state as well (RESERVED).
  std::string before;
  std::erase_if(reservations_, [&](const SimReservation& r) {
    if (r.name != wanted.reservation) return false;
    before = r.nodes;
    return true;
  });
  SparePool is = wanted;
  is.nodes = sorted_hosts(wanted.nodes);
  std::erase_if(is.nodes, [this](const std::string& name) { return !node_index_.contains(name); });
  if (!is.nodes.empty()) {
    reservations_.push_back(
        {wanted.reservation, compress_hostlist(is.nodes), stamp(loop_.now()), TimePoint::max(), {0}});
    for (const std::string& name : is.nodes) nodes_[index_of(name)].reserved = true;
    changed(reservations_.back().nodes);
  }
  if (!before.empty()) changed(before);
  schedule_soon();
  return is;
}

void SimCluster::set_spare_pool(SparePool pool, Done<SparePool> done) {
  answer<SparePool>("set_spare_pool", std::move(done),
                    [this, pool = std::move(pool)] { return Result<SparePool>(make_pool(pool)); });
}

void SimCluster::spare_pools(Done<std::vector<SparePool>> done) {
  answer<std::vector<SparePool>>("spare_pools", std::move(done), [this] {
    std::vector<SparePool> pools;
    for (const SimReservation& r : reservations_)
      if (r.name.starts_with(kSparePoolPrefix))
        pools.push_back(
            {r.name.substr(kSparePoolPrefix.size()), r.name, *expand_hostlist(r.nodes), {"root"}});
    return Result<std::vector<SparePool>>(std::move(pools));
  });
}

}  // namespace sickbay::sim
