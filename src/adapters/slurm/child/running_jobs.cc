// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/running_jobs.h"

#include <fmt/format.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "adapters/slurm/child/fields.h"
#include "adapters/slurm/child/job_cpus.h"
#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/key_comment.h"
#include "base/hostlist.h"

namespace sickbay::slurm {
namespace {

constexpr std::uint16_t kInDetail = kJobs | SHOW_DETAIL;

std::string_view oversubscribe_word(std::uint16_t shared) {
  switch (shared) {
    case JOB_SHARED_NONE:
      return "NO";
    case JOB_SHARED_OK:
      return "YES";
    case JOB_SHARED_USER:
      return "USER";
    case JOB_SHARED_MCS:
      return "MCS";
    default:
      return "OK";
  }
}

/// Donors of ours are no jobs of anybody's.
bool is_donor(const slurm_job_info_t& record) {
  return text(record.dependency).starts_with("expand:") || text(record.name).starts_with("sickbay-donor-");
}

}  // namespace

RunningJob running_job(slurm_job_info_t& record) {
  const JobInfo info = job_info(record);
  RunningJob job;
  job.job_id = info.job_id;
  job.uid = info.uid;
  job.gid = record.group_id;
  job.submit = info.submit;
  job.start = info.start;
  job.name = info.name;
  job.state = info.state;
  job.flags = info.flags;
  if (auto names = expand_hostlist(info.nodes)) job.nodes = std::move(*names);
  job.cpus_per_node = cpus_per_node(record, job.nodes);
  job.batch = record.batch_flag != 0;
  job.batch_host = text(record.batch_host);
  job.time_limit_min = info.time_limit_s / 60;
  job.partition = info.partition;
  job.account = text(record.account);
  job.qos = text(record.qos);
  job.reservation = info.reservation;
  job.features = text(record.features);
  job.tres_per_node = text(record.tres_per_node);
  job.tres_per_socket = text(record.tres_per_socket);
  job.tres_per_task = text(record.tres_per_task);
  job.tres_per_job = text(record.tres_per_job);
  job.cpus_per_tres = text(record.cpus_per_tres);
  job.mem_per_tres = text(record.mem_per_tres);
  job.gres = text(record.gres_total);
  job.memory_per_cpu = (record.pn_min_memory & MEM_PER_CPU) != 0;
  job.memory_mib = record.pn_min_memory & ~MEM_PER_CPU;
  if (record.pn_min_memory == NO_VAL64) job.memory_mib = 0, job.memory_per_cpu = false;
  if (auto names = expand_hostlist(text(record.exc_nodes))) job.excluded = std::move(*names);
  job.oversubscribe = oversubscribe_word(record.shared);
  job.tasks_per_node = number_or_none(record.ntasks_per_node);
  job.cpus_per_task = number_or_none(record.cpus_per_task);
  job.threads_per_core = number_or_none(record.threads_per_core);
  job.core_spec = number_or_none(record.core_spec);
  if (record.het_job_id != 0 && record.het_job_id != NO_VAL) {
    job.het_job_id = record.het_job_id;
    job.het_offset = record.het_job_offset;
  }
  job.array_job_id = info.array_job_id;
  job.array_task_id = info.array_task_id;
  return job;
}

Result<SeenJob> see_job(const Handle& handle) {
  job_info_msg_t* raw = nullptr;
  if (load_job(&raw, handle.job_id, kInDetail) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, fmt::format("reading job {}", handle.job_id)));
  const Jobs answer(raw);
  // (The number of an array or of a heterogeneous job answers with all of it.)
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    slurm_job_info_t& record = answer->job_array[i];
    if (record.job_id != handle.job_id) continue;
    SeenJob seen{job_info(record), running_job(record), text(record.state_desc)};
    if (!handle.means(seen.info)) return stranger(handle);
    return seen;
  }
  return no_such_job(handle.job_id);
}

Result<std::vector<std::string>> nodes_of_het_job(JobId leader) {
  job_info_msg_t* raw = nullptr;
  if (load_job(&raw, leader, kJobs) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, fmt::format("reading the parts of job {}", leader)));
  const Jobs answer(raw);
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    if (auto names = expand_hostlist(text(answer->job_array[i].nodes)))
      all = hosts_in_either(all, sorted_hosts(std::move(*names)));
  return all;
}

Result<Json> list_running_jobs(const Json& args) {
  std::unordered_set<JobId> also;
  for (const Json& id : args["also"].items()) also.insert(static_cast<JobId>(id.as_int()));
  job_info_msg_t* raw = nullptr;
  if (slurm_load_jobs(0, &raw, kInDetail) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading all jobs"));
  const Jobs answer(raw);
  Json::Array jobs;
  std::unordered_set<JobId> known;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    slurm_job_info_t& record = answer->job_array[i];
    known.insert(record.job_id);
    if ((record.job_state & JOB_STATE_BASE) != JOB_RUNNING || is_donor(record)) continue;
    // Without --no-kill one node is the whole job; those that are known may have been left with one.
    if (record.num_nodes > 1 || also.contains(record.job_id)) jobs.push_back(running_job(record).to_json());
  }
  keep_cpus_of(known);
  return Json(std::move(jobs));
}

Result<Json> look_at_running_job(const Json& args) {
  auto seen = see_job(Handle(args));
  if (!seen) return fail(std::move(seen.error()));
  return seen->job.to_json();
}

}  // namespace sickbay::slurm
