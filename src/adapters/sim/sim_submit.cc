// SPDX-License-Identifier: Apache-2.0
// Submissions: what slurmctld takes, and what it refuses.
#include <fmt/format.h>

#include <algorithm>

#include "adapters/sim/sim_state.h"
#include "base/hostlist.h"
#include "base/words.h"

namespace sickbay::sim {
namespace {

tl::unexpected<Error> refused(std::string_view words) {
  return fail(ErrorCode::refused_by_slurm,
              fmt::format("sbatch: error: Batch job submission failed: {}", words));
}

}  // namespace

Result<Submitted> SimCluster::accept_program(const ProgramOrder& order) {
  auto request = read_request(order.submission);
  if (!request) return fail(request.error());
  // The user's wishes as to when and where do not hold for a re-run (doc/design/decisions.md 19): it is held
  // until we release it, and runs where the order says.
  const auto dropped = request->not_for_reruns;
  request->nodelist = sorted_hosts(order.include);
  request->dependency.clear();
  request->exclude = hosts_in_either(request->exclude, sorted_hosts(order.exclude));
  request->hold = true;
  request->comment += (request->comment.empty() ? "sickbay:" : " sickbay:") + order.key;
  request->output = order.output_dir + "/slurm-%j.out";
  request->error = order.output_dir + "/slurm-%j.err";
  if (order.array_task) {
    request->array = TaskIds();
    request->array.add(*order.array_task);
    request->array_throttle = 0;
  }
  auto job = std::make_unique<Job>();
  job->info.uid = order.submission.owner.uid;
  job->info.work_dir = order.work_dir.empty() ? order.submission.work_dir : order.work_dir;
  job->script = order.submission.script;
  job->run_number = order.run_number;
  auto submitted = accept(std::move(*request), std::move(job));
  if (submitted) submitted->dropped = dropped;
  return submitted;
}

Result<Submitted> SimCluster::accept_verification(const VerificationOrder& order) {
  SimRequest request;
  request.name = "sickbay-verify";
  request.partition = order.partition;
  request.comment = "sickbay:" + order.key;
  request.output = order.output_dir + "/verify-%j.out";
  request.error = order.output_dir + "/verify-%j.err";
  request.nodelist = sorted_hosts(order.nodes);
  request.nodes = static_cast<std::uint32_t>(request.nodelist.size());
  // Slurm counts limits in whole minutes.
  request.time_limit_s = (order.time_limit.count() + 59) / 60 * 60;
  request.requeue = false;
  request.hold = true;
  auto job = std::make_unique<Job>();
  job->verification = true;
  if (order.last) {
    // Behind users' jobs, which have 0.
    job->priority = -1;
    priorities_ = true;
  } else if (!order.qos.empty()) {
    job->priority = 1000;  // a QOS for it has one above users' jobs
    priorities_ = true;
  }
  job->script = order.script;
  constexpr std::string_view kHold = "SICKBAY_VERIFY_HOLD=";
  for (const std::string& one : order.environment)
    if (one.starts_with(kHold))
      job->hold_s = static_cast<double>(to_integer(one.substr(kHold.size())).value_or(0));
  job->info.work_dir = order.output_dir;
  job->info.uid = options_.verification_uid;
  return accept(std::move(request), std::move(job));
}

Result<Submitted> SimCluster::sbatch(const Submission& submission) {
  if (away_) return fail(away());
  auto request = read_request(submission);
  if (!request) return fail(request.error());
  auto job = std::make_unique<Job>();
  job->info.uid = submission.owner.uid;
  job->info.work_dir = submission.work_dir;
  job->script = submission.script;
  return accept(std::move(*request), std::move(job));
}

/// Of the job's partition, whatever they do now.
std::size_t SimCluster::nodes_that_fit(const Job& job) const {
  return static_cast<std::size_t>(std::ranges::count_if(partition_nodes_[job.partition],
                                                        [&](NodeIndex node) { return fits(job, node); }));
}

Result<Submitted> SimCluster::accept(SimRequest request, std::unique_ptr<Job> made) {
  Job& job = *made;
  JobInfo& info = job.info;
  const auto partition = std::find_if(
      options_.partitions.begin(), options_.partitions.end(),
      [&](const SimPartition& p) { return request.partition.empty() || p.name == request.partition; });
  if (partition == options_.partitions.end()) return refused("Invalid partition name specified");
  job.partition = static_cast<std::size_t>(partition - options_.partitions.begin());
  const auto& members = partition_nodes_[job.partition];
  const auto indices = [&](const std::vector<std::string>& names, std::vector<NodeIndex>& into) {
    for (const auto& name : names) {
      const auto found = node_index_.find(name);
      if (found == node_index_.end()) return false;
      into.push_back(found->second);
    }
    std::sort(into.begin(), into.end());
    return true;
  };
  if (!indices(request.exclude, job.exclude) || !indices(request.nodelist, job.only))
    return refused("Invalid node name specified");
  job.constraint = request.constraint;
  job.reservation = request.reservation;
  if (const auto why = refuses_reservation(job)) return refused(*why);
  if (!request.dependency.empty()) {
    auto dependencies = parse_dependencies(request.dependency);
    if (!dependencies) return refused("Job dependency problem");
    job.dependencies = std::move(*dependencies);
  }
  if (!job.constraint.empty() && std::none_of(nodes_.begin(), nodes_.end(), [&](const Node& node) {
        return meets_constraint(job.constraint, node.features).value_or(false);
      }))
    return refused("Invalid feature specification");
  const std::size_t eligible = nodes_that_fit(job);
  const std::uint32_t by_tasks = (request.tasks + options_.cpus - 1) / options_.cpus;
  info.num_nodes = std::max({request.nodes, by_tasks, static_cast<std::uint32_t>(job.only.size()), 1u});
  if (!std::includes(members.begin(), members.end(), job.only.begin(), job.only.end()))
    return refused("Requested nodes not in this partition");
  if (info.num_nodes > members.size()) return refused("Node count specification invalid");
  // A held job's exclusions are looked at when it is released.
  job.possible = info.num_nodes <= eligible;
  if (!job.possible && !request.hold) return refused("Requested node configuration is not available");

  const auto behaviour = behaviour_of_script(job.script);
  if (!behaviour) return fail(behaviour.error());
  job.behaviour = *behaviour;
  // (A killed slurmctld gives ids again.)
  while (jobs_.count(next_id_)) ++next_id_;
  info.job_id = next_id_++;
  info.name = request.name.empty() ? "sbatch" : request.name;
  info.comment = request.comment;
  info.partition = partition->name;
  info.state = "PENDING";
  info.held = request.hold;
  info.reason = request.hold ? "JobHeldUser" : job.dependencies.each.empty() ? "None" : "Dependency";
  info.submit = stamp(loop_.now());
  info.time_limit_s = request.time_limit_s.value_or(partition->max_time_s);
  if (!request.array.empty()) {
    info.array_job_id = info.job_id;
    info.array_task_id = request.array.text();
    job.array_throttle = request.array_throttle;
    arrays_[info.job_id].insert(info.job_id);
  }
  job.out_pattern = !request.output.empty() ? request.output
                    : job.is_array()        ? "slurm-%A_%a.out"
                                            : "slurm-%j.out";
  job.err_pattern = request.error;
  name_outputs(job);
  // A scenario's word goes before the script's.
  if (behaviour_of)
    if (auto chosen = behaviour_of(info, job.script)) job.behaviour = *chosen;
  job.may_requeue = request.requeue;
  job.no_kill = request.no_kill;
  job.dependency = request.dependency;
  job.key = key_in_comment(info.comment);
  job.submitted = loop_.now();
  if (!job.key.empty()) by_key_[job.key].insert(info.job_id);
  if (!info.held) queue_.insert(info.job_id);
  if (!job.dependencies.each.empty()) dependent_.insert(info.job_id);
  const Submitted submitted{.job_id = info.job_id, .submit = info.submit, .dropped = {}};
  jobs_[info.job_id] = std::move(made);
  tell(job);
  schedule_soon();
  return submitted;
}

}  // namespace sickbay::sim
