// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/dependents.h"

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "adapters/slurm/child/records.h"
#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/dependents.h"
#include "adapters/slurm/key_comment.h"
#include "model/sbatch_options.h"
#include "model/slurm_state.h"

namespace sickbay::slurm {
namespace {

/// A script is a question to slurmctld each; of more jobs only the line that submitted them is looked at.
constexpr int kMostScripts = 20;

bool can_matter(const slurm_job_info_t& record) {
  // (Its dependency can never come true: it waits for nothing.)
  if (record.state_reason == WAIT_DEP_INVALID) return false;
  // (Jobs of ours wait for nobody's end.)
  if (record.comment && !key_in(record.comment).empty()) return false;
  const auto state = job_state_from_word(record.job_state);
  return !state || !is_terminal(*state);
}

/// What the #SBATCH lines of a job that slurmctld still has say of it.
std::string dependency_in_script(JobId id) {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  if (out == nullptr) return {};
  const int rc = call_for_job(slurm_job_batch_script, out, id);
  std::fclose(out);
  const std::string script = rc == SLURM_SUCCESS ? std::string(text, size) : std::string();
  std::free(text);
  std::string found;
  if (const auto options = parse_script_options(script))
    for (const GivenOption& given : *options)
      if (given.name == "dependency") found = given.value.value_or("");
  return found;
}

}  // namespace

Result<Json> find_dependents(const Json& args) {
  const DependentsOrder order{static_cast<JobId>(args["job_id"].as_int()),
                              static_cast<std::uint32_t>(args["uid"].as_int()), args["name"].as_string()};
  Json found = Json::object({{"array_job_id", 0}});
  job_info_msg_t* raw = nullptr;
  if (slurm_load_job_user(&raw, order.uid, kJobs) != SLURM_SUCCESS) {
    // slurmctld answers so for a user it has no job of.
    if (errno == ESLURM_INVALID_JOB_ID) return found.set("jobs", Json::array());
    return fail(slurm_error(errno, CallKind::look, "looking for jobs that depend on another"));
  }
  const Jobs answer(raw);
  JobId array = 0;
  for (std::uint32_t i = 0; i < answer->record_count; ++i)
    if (answer->job_array[i].job_id == order.job_id) array = answer->job_array[i].array_job_id;
  struct Found {
    JobId id;
    Json json;
  };
  std::vector<Found> jobs;
  int scripts = 0;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    slurm_job_info_t& record = answer->job_array[i];
    if (record.job_id == order.job_id || !can_matter(record)) continue;
    const JobInfo job = job_info(record);
    const std::string shown = record.dependency ? record.dependency : "";
    std::string why = why_dependent(shown, job.name, order, array);
    // Seen on 22.05: what has come true is taken off the job.
    const bool may_have_had_one = shown.empty() && record.batch_flag && job.reason != "Dependency";
    if (why.empty() && !may_have_had_one) continue;
    if (why.empty() && scripts++ < kMostScripts)
      why = why_dependent(dependency_in_script(job.job_id), job.name, order, array);
    jobs.push_back(
        {job.job_id,
         Json::object({{"job_id", job.job_id}, {"name", job.name}, {"state", job.state}, {"why", why}})});
  }
  std::ranges::sort(jobs, {}, &Found::id);
  Json list = Json::array();
  for (Found& job : jobs) list.push(std::move(job.json));
  return found.set("array_job_id", array).set("jobs", std::move(list));
}

// Only the few fields that are asked for are read: a full queue has a hundred thousand records.
Result<Json> list_waiting_jobs() {
  job_info_msg_t* raw = nullptr;
  if (slurm_load_jobs(0, &raw, kJobs) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading the queue"));
  const Jobs answer(raw);
  std::map<std::pair<std::string, std::string>, std::int64_t> found;
  for (std::uint32_t i = 0; i < answer->record_count; ++i) {
    slurm_job_info_t& record = answer->job_array[i];
    // (Held ones wait for a person, not for nodes.)
    if ((record.job_state & JOB_STATE_BASE) != JOB_PENDING || record.priority == 0) continue;
    if (record.comment && parse_patrol_run(key_in(record.comment))) continue;
    const std::string reason = job_info(record).reason;
    std::string_view names = record.partition ? record.partition : "";
    // A job that may go to several partitions waits in each of them.
    while (!names.empty()) {
      const std::size_t comma = std::min(names.find(','), names.size());
      ++found[{std::string(names.substr(0, comma)), reason}];
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  }
  Json list = Json::array();
  for (const auto& [where, jobs] : found)
    list.push(Json::object({{"partition", where.first}, {"reason", where.second}, {"jobs", jobs}}));
  return Json::object({{"waiting", std::move(list)}});
}

}  // namespace sickbay::slurm
