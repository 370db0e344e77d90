// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/replacement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "adapters/slurm/child/node_update.h"
#include "adapters/slurm/child/release_codes.h"
#include "adapters/slurm/child/running_jobs.h"
#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/child/spare_pool.h"
#include "adapters/slurm/donor.h"
#include "adapters/slurm/key_comment.h"
#include "base/hostlist.h"
#include "model/slurm_state.h"

// libslurm has it, and slurm.h tells to use it, without declaring it.
extern "C" void slurm_free_will_run_response_msg(will_run_response_msg_t* answer);

namespace sickbay::slurm {
namespace {

/// slurmctld's ways to say that no such nodes are free now.
constexpr auto kNotNow =
    std::to_array<int>({ESLURM_NODES_BUSY, ESLURM_CAN_NOT_START_IMMEDIATELY, ESLURM_RESERVATION_BUSY,
                        code::kInterconnectBusy, ESLURM_PORTS_BUSY, ESLURM_NODE_NOT_AVAIL,
                        ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, ESLURM_ACCOUNTING_POLICY});

bool expansion_is_permitted() {
  slurm_conf_t* raw = nullptr;
  if (slurm_load_ctl_conf(0, &raw) != SLURM_SUCCESS) return true;  // then it is not what we complain of
  const Conf conf(raw);
  const std::string parameters = conf->sched_params ? conf->sched_params : "";
  return parameters.find("permit_job_expansion") != std::string::npos;
}

Error allocation_error(int number, JobId job) {
  const std::string doing = fmt::format("allocating a donor for job {}", job);
  if (std::ranges::find(kNotNow, number) != kNotNow.end())
    return Error(ErrorCode::busy, fmt::format("no node is free for job {}", job))
        .because(fmt::format("slurmctld answered \"{}\" ({})", slurm_strerror(number), number))
        .remedied_by("ask again later, or let the request wait");
  // A donor is an expansion: without the permission slurmctld finds fault with the dependency.
  if ((number == ESLURM_DEPENDENCY || number == ESLURM_NOT_SUPPORTED) && !expansion_is_permitted())
    return Error(ErrorCode::conflict, "this cluster does not let running jobs grow")
        .because("slurm.conf has no SchedulerParameters=permit_job_expansion")
        .remedied_by("add it to SchedulerParameters and run 'scontrol reconfigure'");
  return slurm_error(number, CallKind::effect, doing);
}

Error update_error(int number, std::string doing) {
  if (number == code::kWaitsForSlurmdbd)
    return Error(ErrorCode::busy, "slurmctld changes no job that slurmdbd has not heard of")
        .in(std::move(doing))
        .because(fmt::format("slurmctld answered \"{}\" ({})", slurm_strerror(number), number))
        .remedied_by("replacing nodes needs slurmdbd (AccountingStorageType), and it must be up");
  if (number == ESLURM_ALREADY_DONE || number == ESLURM_JOB_NOT_RUNNING || number == ESLURM_JOB_FINISHED)
    return Error(ErrorCode::conflict,
                 fmt::format("the job does not run any more: \"{}\"", slurm_strerror(number)))
        .in(std::move(doing));
  return slurm_error(number, CallKind::effect, std::move(doing));
}

Status update_job(job_desc_msg_t& message, const std::string& doing) {
  message.user_id = getuid();
  if (slurm_update_job(&message) != SLURM_SUCCESS) return fail(update_error(errno, doing));
  return {};
}

Json donor_json(const JobInfo& job) {
  auto nodes = expand_hostlist(job.nodes);
  return Json::object({{"donor", job.job_id},
                       {"submit", to_micros(job.submit)},
                       {"state", job.state},
                       {"nodes", nodes ? *nodes : std::vector<std::string>()},
                       {"expected_start", to_micros(job.expected_start)}});
}

Json node_set(const RunningJob& job) {
  return Json::object({{"nodes", job.nodes}, {"cpus_per_node", cpu_groups_to_json(job.cpus_per_node)}});
}

struct FreeWillRun {
  void operator()(will_run_response_msg_t* p) const { slurm_free_will_run_response_msg(p); }
};

/// When slurmctld would start a pending donor, as it reckons now.  Its own word on that (start_time) comes
/// with the next round of backfill, and the client asks now.
TimePoint guessed_start(JobId donor) {
  job_desc_msg_t question;
  slurm_init_job_desc_msg(&question);
  job_number(question) = donor;
  question.user_id = getuid();
  will_run_response_msg_t* raw = nullptr;
  if (slurm_job_will_run2(&question, &raw) != SLURM_SUCCESS || raw == nullptr) return kNoTime;
  const std::unique_ptr<will_run_response_msg_t, FreeWillRun> answer(raw);
  return from_unix_seconds(answer->start_time);
}

/// The donors with `key` that have not ended, lowest id first.
Result<std::vector<JobInfo>> find_donors(const std::string& key, std::uint32_t uid) {
  auto found = jobs_with_key(key, uid);
  if (found) std::erase_if(*found, is_over);
  return found;
}

/// What an earlier try may have allocated: the first is taken, its twins give their nodes back.
Result<std::optional<Json>> earlier_donor(const DonorOrder& order) {
  auto donors = find_donors(order.key, order.job.uid);
  if (!donors) return fail(std::move(donors.error()));
  if (donors->empty()) return std::optional<Json>();
  for (std::size_t i = 1; i < donors->size(); ++i)
    if (kill_job((*donors)[i].job_id, SIGKILL) != SLURM_SUCCESS && errno != ESLURM_ALREADY_DONE)
      return fail(slurm_error(errno, CallKind::effect, "cancelling a second donor of " + order.key));
  return std::optional<Json>(donor_json(donors->front()));
}

Result<JobId> allocate(const DonorRequest& r, JobId for_job) {
  const std::string exclude = fmt::format("{}", fmt::join(r.exclude, ",")),
                    nodes = fmt::format("{}", fmt::join(r.node_list, ","));
  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  job.name = c_text(r.name);
  job.comment = c_text(r.comment);
  job.submit_line = c_text(r.submit_line);
  job.dependency = c_text(r.dependency);
  job.user_id = r.uid;
  job.group_id = r.gid;
  job.account = c_text(r.account);
  job.partition = c_text(r.partition);
  job.qos = c_text(r.qos);
  job.reservation = c_text(r.reservation);
  job.features = c_text(r.features);
  job.exc_nodes = c_text(exclude);
  job.req_nodes = c_text(nodes);
  job.min_nodes = job.max_nodes = r.nodes;
  job.min_cpus = r.nodes * r.cpus_per_node;
  job.pn_min_cpus = static_cast<std::uint16_t>(r.cpus_per_node);
  if (r.tasks_per_node != 0) {
    job.ntasks_per_node = static_cast<std::uint16_t>(r.tasks_per_node);
    job.num_tasks = r.nodes * r.tasks_per_node;
  }
  if (r.cpus_per_task != 0) job.cpus_per_task = static_cast<std::uint16_t>(r.cpus_per_task);
  if (r.threads_per_core != 0) job.threads_per_core = static_cast<std::uint16_t>(r.threads_per_core);
  if (r.core_spec != 0) job.core_spec = static_cast<std::uint16_t>(r.core_spec);
  if (r.memory_mib != 0) job.pn_min_memory = r.memory_mib | (r.memory_per_cpu ? MEM_PER_CPU : 0);
  if (r.oversubscribe == "NO") job.shared = JOB_SHARED_NONE;
  if (r.oversubscribe == "USER") job.shared = JOB_SHARED_USER;
  if (r.oversubscribe == "YES") job.shared = JOB_SHARED_OK;
  job.time_limit = r.time_limit_min == 0 ? INFINITE : r.time_limit_min;
  // In front of the queue: a job that runs waits for it.
  job.priority = kTopPriority;
  job.immediate = r.immediate ? 1 : 0;
  // A donor that was begun again would be nobody's.
  job.requeue = 0;
  // (slurmctld wants a folder; no step ever runs in it.)
  std::string folder = "/";
  job.work_dir = folder.data();

  resource_allocation_response_msg_t* raw = nullptr;
  if (slurm_allocate_resources(&job, &raw) != SLURM_SUCCESS || raw == nullptr)
    return fail(allocation_error(errno, for_job));
  const Allocation answer(raw);
  return job_number(*answer);
}

}  // namespace

Result<Json> allocate_donor(const Json& args) {
  DonorOrder order = DonorOrder::from_json(args);
  auto seen = see_job(Handle(args["job"]));
  if (!seen) return fail(std::move(seen.error()));
  // After a lost answer: is it there already?
  if (order.again) {
    // It may have died as a guest of the pool, too.
    if (!order.reservation.empty())
      if (auto left = set_pool_users(order.reservation, order.pool_users); !left)
        return fail(std::move(left.error()));
    auto earlier = earlier_donor(order);
    if (!earlier) return fail(std::move(earlier.error()));
    if (*earlier) return std::move(**earlier);
  }
  // The nodes of all parts of a heterogeneous job: else one part may get a node of another, and srun over
  // both groups complains (tried).
  if (seen->job.het_job_id != 0) {
    auto parts = nodes_of_het_job(seen->job.het_job_id);
    if (!parts) return fail(std::move(parts.error()));
    order.exclude = hosts_in_either(sorted_hosts(order.exclude), *parts);
  }
  auto request = donor_request(seen->job, order, from_micros(args["now"].as_int()));
  if (!request) return fail(std::move(request.error()));

  // A reservation admits only its users, even where root asks for them.
  if (!order.reservation.empty())
    if (auto joined = join_pool(order.reservation, order.pool_users, order.job.uid); !joined)
      return fail(std::move(joined.error()));
  auto donor = allocate(*request, order.job.job_id);
  // Left again whatever came of it, else its owner could run jobs on spares.
  if (!order.reservation.empty())
    // Before the donor's own error: that no node is free is no reason to try again, and only a repeat leaves
    // the pool.  (It finds the donor, where there is one.)
    if (auto left = set_pool_users(order.reservation, order.pool_users); !left)
      return fail(
          std::move(left.error())
              .in("leaving the spare pool" + (donor ? std::string() : ", after: " + donor.error().line())));
  if (!donor) return fail(std::move(donor.error()));
  auto job = read_job(*donor);
  if (!job || !*job)
    return fail(Error(ErrorCode::timed_out, fmt::format("donor {} was allocated but cannot be read", *donor))
                    .because(job ? "slurmctld lost it" : job.error().line()));
  if ((*job)->state == "PENDING" && (*job)->expected_start == kNoTime)
    (*job)->expected_start = guessed_start(*donor);
  return donor_json(**job);
}

Result<Json> give_donor(const Json& args) {
  const Handle job_handle(args["job"]), donor_handle(args["donor"]);
  const std::vector<std::string> nodes = args["nodes"].as_strings();
  const std::string doing = fmt::format("giving {} to job {}", compress_hostlist(nodes), job_handle.job_id);
  auto seen = see_job(job_handle);
  if (!seen) return fail(std::move(seen.error()));
  if (auto can = can_grow(seen->job); !can) return fail(std::move(can.error()).in(doing));
  const auto has_them = [&nodes](const RunningJob& job) {
    return hosts_without(sorted_hosts(nodes), sorted_hosts(job.nodes)).empty();
  };
  auto donor = read_job(donor_handle.job_id);
  if (!donor) return fail(std::move(donor.error()));
  const bool ours = *donor && donor_handle.means(**donor);
  if (ours && (*donor)->state == "PENDING")
    return fail(Error(ErrorCode::busy, fmt::format("donor {} still waits for its nodes", donor_handle.job_id))
                    .in(doing));
  const bool lives = ours && !is_over(**donor);
  // By what the job has and not by what was done: a repeat finds a finished or a half-done give as it is.
  if (!has_them(seen->job)) {
    if (!lives)
      return fail(Error(ErrorCode::not_found, fmt::format("donor {} is gone", donor_handle.job_id))
                      .in(doing)
                      .because(ours ? "its state is " + (*donor)->state : "slurmctld does not know it"));
    job_desc_msg_t shrink;
    slurm_init_job_desc_msg(&shrink);
    job_number(shrink) = donor_handle.job_id;
    shrink.min_nodes = 0;
    if (auto shrunk = update_job(shrink, doing); !shrunk) return fail(std::move(shrunk.error()));
    // (Step 3 of doc/design/nonstop_slurm.md; 22.05 has nothing left to do here.)
    job_desc_msg_t grow;
    slurm_init_job_desc_msg(&grow);
    job_number(grow) = job_handle.job_id;
    grow.min_nodes = INFINITE;
    if (auto grown = update_job(grow, doing); !grown) return fail(std::move(grown.error()));
    seen = see_job(job_handle);
    if (!seen) return fail(std::move(seen.error()));
    if (!has_them(seen->job))
      return fail(Error(ErrorCode::conflict,
                        fmt::format("job {} has not got {}", job_handle.job_id, compress_hostlist(nodes)))
                      .in(doing)
                      .because("it has " + compress_hostlist(seen->job.nodes)));
  }
  // An empty donor stays until somebody ends it.
  if (lives && kill_job(donor_handle.job_id, SIGKILL) != SLURM_SUCCESS && errno != ESLURM_ALREADY_DONE &&
      errno != ESLURM_INVALID_JOB_ID)
    return fail(slurm_error(errno, CallKind::effect, "ending the empty donor"));
  return node_set(seen->job);
}

Result<Json> drop_nodes(const Json& args) {
  const Handle handle(args["job"]);
  auto seen = see_job(handle);
  if (!seen) return fail(std::move(seen.error()));
  const auto drop = args["nodes"].as_strings();
  auto left = nodes_left(seen->job, drop);
  if (!left) return fail(std::move(left.error()));
  // None of them is in the job any more: a repeat.
  if (left->size() == seen->job.nodes.size()) return node_set(seen->job);
  const std::string list = fmt::format("{}", fmt::join(*left, ","));
  job_desc_msg_t shrink;
  slurm_init_job_desc_msg(&shrink);
  job_number(shrink) = handle.job_id;
  shrink.req_nodes = c_text(list);
  if (auto shrunk =
          update_job(shrink, fmt::format("taking {} from job {}", compress_hostlist(drop), handle.job_id));
      !shrunk)
    return fail(std::move(shrunk.error()));
  seen = see_job(handle);
  if (!seen) return fail(std::move(seen.error()));
  return node_set(seen->job);
}

Result<Json> set_time_limit(const Json& args) {
  const Handle handle(args["job"]);
  auto seen = see_job(handle);
  if (!seen) return fail(std::move(seen.error()));
  if (auto can = can_change(seen->job); !can) return fail(std::move(can.error()));
  const std::int64_t minutes = args["minutes"].as_int();
  if (seen->job.time_limit_min == minutes) return Json(minutes);
  job_desc_msg_t change;
  slurm_init_job_desc_msg(&change);
  job_number(change) = handle.job_id;
  change.time_limit = minutes == 0 ? INFINITE : static_cast<std::uint32_t>(minutes);
  if (auto changed = update_job(change, fmt::format("setting the time limit of job {}", handle.job_id));
      !changed)
    return fail(std::move(changed.error()));
  seen = see_job(handle);
  if (!seen) return fail(std::move(seen.error()));
  return Json(seen->job.time_limit_min);
}

Result<Json> fail_node(const Json& args) {
  const std::string reason = args["reason"].as_string();
  auto node = read_node(args["node"].as_string());
  if (!node) return fail(std::move(node.error()));
  if (has_flag(*node, "FAIL")) return Json(false);
  if (!node->reason.empty() && !node->reason.starts_with(kKeyMark)) return foreign_reason(*node);
  return update_node(node->name, NODE_STATE_FAIL, reason);
}

Result<Json> unfail_node(const Json& args) {
  auto node = read_node(args["node"].as_string());
  if (!node) return fail(std::move(node.error()));
  if (!has_flag(*node, "FAIL")) return Json(false);
  if (!node->reason.starts_with(args["prefix"].as_string())) return foreign_reason(*node);
  // Tried on 22.05: UNDRAIN lifts FAIL, of a DOWN node nothing, and DRAIN along with it; RESUME would revive
  // a DOWN node.
  if (node->state == "DOWN" || has_flag(*node, "DRAIN"))
    return fail(Error(ErrorCode::conflict, fmt::format("node {} is also {}", node->name,
                                                       node->state == "DOWN" ? "DOWN" : "drained"))
                    .because("Slurm lifts FAIL only together with that")
                    .remedied_by("end the other first; then ask again"));
  return update_node(node->name, NODE_STATE_UNDRAIN, "");
}

}  // namespace sickbay::slurm
