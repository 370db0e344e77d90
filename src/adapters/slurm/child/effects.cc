// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/effects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "adapters/slurm/child/job_handle.h"
#include "adapters/slurm/child/node_update.h"
#include "adapters/slurm/child/slurm_error.h"
#include "adapters/slurm/donor.h"
#include "adapters/slurm/key_comment.h"
#include "base/text.h"
#include "model/slurm_state.h"

namespace sickbay::slurm {
namespace {

constexpr std::uint32_t kMostNice = 1'000'000'000;  // Slurm takes up to 2^31 - 3

struct FreeSubmit {
  void operator()(submit_response_msg_t* p) const { slurm_free_submit_response_response_msg(p); }
};

}  // namespace

Result<Json> submit_verification(const Json& args) {
  const std::vector<std::string> nodes = args["nodes"].as_strings();
  const std::string node_list = fmt::format("{}", fmt::join(nodes, ","));
  const std::string key = args["key"].as_string();
  const std::string comment = comment_with_key("", key);
  // sacct keeps the submit line and, by default, no comment: it must hold the key too.
  const std::string submit_line = "sickbay " + comment;
  std::vector<std::string> environment = args["environment"].as_strings();
  std::vector<char*> environment_c;
  for (const std::string& one : environment) environment_c.push_back(const_cast<char*>(one.c_str()));
  environment_c.push_back(nullptr);
  std::string script_name = "sickbay-verify";
  char* script_argv[] = {script_name.data(), nullptr};
  const auto count = static_cast<std::uint32_t>(nodes.size());

  job_desc_msg_t job;
  slurm_init_job_desc_msg(&job);
  job.user_id = static_cast<std::uint32_t>(args["uid"].as_int());
  job.group_id = static_cast<std::uint32_t>(args["gid"].as_int());
  job.name = c_text(args["name"].as_string());
  job.comment = c_text(comment);
  job.submit_line = c_text(submit_line);
  job.script = c_text(args["script"].as_string());
  job.argc = 1;
  job.argv = script_argv;
  job.environment = environment_c.data();
  job.env_size = static_cast<std::uint32_t>(environment.size());
  job.priority = 0;  // held, until the job id is in the journal
  // A verification says what was at one time; begun again, it would say something else.
  job.requeue = 0;
  job.kill_on_node_fail = 1;
  // Just these nodes, one task on each.
  job.req_nodes = c_text(node_list);
  job.min_nodes = job.max_nodes = count;
  job.num_tasks = count;
  job.ntasks_per_node = 1;
  job.min_cpus = count;
  // On whole nodes where V is to judge speed: a node that others load would be called slow for it.
  if (args["exclusive"].as_bool(true)) job.shared = 0;
  // Behind all jobs of users: these nodes are tried because nobody wants them.
  if (args["last"].as_bool()) job.nice = NICE_OFFSET + kMostNice;
  // Slurm counts in minutes: rounded up, so that it is not ended before its time.
  job.time_limit =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, (args["time_limit_s"].as_int() + 59) / 60));
  job.partition = c_text(args["partition"].as_string());
  job.reservation = c_text(args["reservation"].as_string());
  job.qos = c_text(args["qos"].as_string());
  job.account = c_text(args["account"].as_string());
  job.work_dir = c_text(args["work_dir"].as_string());
  job.std_out = c_text(args["std_out"].as_string());
  job.std_err = c_text(args["std_err"].as_string());
  std::string null_device = "/dev/null";
  job.std_in = null_device.data();

  submit_response_msg_t* raw = nullptr;
  if (slurm_submit_batch_job(&job, &raw) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::effect, "submitting " + key));
  const std::unique_ptr<submit_response_msg_t, FreeSubmit> answer(raw);
  const JobId job_id = job_number(*answer);
  Json submitted = Json::object({{"job_id", job_id}});
  // Slurm's stamp is read back.  Where that fails the job is there all the same, and find() gives the rest.
  auto job_now = read_job(job_id);
  if (!job_now || !*job_now)
    return fail(Error(ErrorCode::timed_out, fmt::format("job {} was submitted but cannot be read", job_id))
                    .because(job_now ? "slurmctld lost it" : job_now.error().line()));
  submitted.set("submit", to_micros((*job_now)->submit));
  return submitted;
}

Result<Json> find_jobs(const Json& args) {
  auto found = jobs_with_key(args["key"].as_string(), static_cast<std::uint32_t>(args["uid"].as_int()));
  if (!found) return fail(std::move(found.error()));
  Json::Array jobs;
  for (const JobInfo& job : *found) jobs.push_back(job.to_json());
  return Json(std::move(jobs));
}

Result<Json> release_job(const Json& args) {
  const Handle handle(args);
  auto job = read_job(handle.job_id);
  if (!job) return fail(std::move(job.error()));
  if (!*job) return no_such_job(handle.job_id);
  // The number may be another job's by now (decisions.md 16, 17); likewise below.
  if (!handle.means(**job)) return stranger(handle);
  if (!(*job)->held || is_over(**job)) return Json(false);
  job_desc_msg_t update;
  slurm_init_job_desc_msg(&update);
  job_number(update) = handle.job_id;
  update.priority = INFINITE;  // what `scontrol release` asks: slurmctld computes a priority
  update.user_id = getuid();
  if (slurm_update_job(&update) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::effect, fmt::format("releasing job {}", handle.job_id)));
  if (args["first"].as_bool()) {
    // A second call, for where a plugin or a limit refuses the priority the job waits as others do.
    update.priority = kTopPriority;
    (void)slurm_update_job(&update);
  }
  return Json(true);
}

Result<Json> cancel_job(const Json& args) {
  const Handle handle(args);
  auto job = read_job(handle.job_id);
  if (!job) return fail(std::move(job.error()));
  if (!*job) return Json(false);
  if (!handle.means(**job)) return stranger(handle);
  if (is_over(**job)) return Json(false);
  if (kill_job(handle.job_id, SIGKILL) != SLURM_SUCCESS) {
    // It may have ended between the look and the call.
    if (errno == ESLURM_ALREADY_DONE || errno == ESLURM_INVALID_JOB_ID) return Json(false);
    return fail(slurm_error(errno, CallKind::effect, fmt::format("cancelling job {}", handle.job_id)));
  }
  return Json(true);
}

// The reason is replaced where the node has none: who drained it, and why, must stay to be read.
Result<Json> set_node_down(const Json& args) {
  auto node = read_node(args["node"].as_string());
  if (!node) return fail(std::move(node.error()));
  if (node->state == "DOWN") return Json(false);
  return update_node(node->name, NODE_STATE_DOWN,
                     node->reason.empty() ? args["reason"].as_string() : node->reason);
}

Result<Json> look_at_node(const Json& args) {
  auto node = read_node(args["node"].as_string());
  if (!node) return fail(std::move(node.error()));
  return node->to_json();
}

Result<Json> read_configuration(const Json&) {
  slurm_conf_t* raw = nullptr;
  if (slurm_load_ctl_conf(0, &raw) != SLURM_SUCCESS)
    return fail(slurm_error(errno, CallKind::look, "reading slurmctld's configuration"));
  const Conf conf(raw);
  const auto text = [](const char* s) { return Json(s ? s : ""); };
  return Json::object({{"cluster", text(conf->cluster_name)},
                       {"version", text(conf->version)},
                       {"slurm_user_id", conf->slurm_user_id},
                       {"propagate_rlimits", text(conf->propagate_rlimits)},
                       {"propagate_rlimits_except", text(conf->propagate_rlimits_except)}});
}

}  // namespace sickbay::slurm
