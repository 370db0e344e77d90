// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/requeue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "adapters/slurm/child/release_codes.h"
#include "adapters/slurm/child/running_jobs.h"
#include "adapters/slurm/child/slurm_error.h"
#include "base/hostlist.h"

namespace sickbay::slurm {
namespace {

// What slurmctld says of a job that was requeued and held in one; by us, where it is our command.
constexpr std::string_view kHeldByRequeue = "job requeued in held state";

Error requeue_error(int number, JobId job) {
  const auto conflict = [&](std::string what, std::string cause) {
    return Error(ErrorCode::conflict, fmt::format("job {} {}", job, what)).because(std::move(cause));
  };
  switch (number) {
    case ESLURM_DISABLED:
      return conflict("may not be requeued", "it was submitted with --no-requeue, or JobRequeue=0 is set")
          .remedied_by("submit it with --requeue");
    case ESLURM_BATCH_ONLY:
      return conflict("cannot be requeued", "it is no batch job: nobody could start its script anew");
    case ESLURM_JOB_PENDING:
      return conflict("waits in the queue", "it has not begun since");
    default:
      return slurm_error(number, CallKind::effect, fmt::format("requeueing job {}", job));
  }
}

// The whole of an array would begin anew where the number is the array's, which is its last task's, too.
bool is_whole_array(const JobInfo& job) { return job.array_job_id == job.job_id && job.array_job_id != 0; }

// Whether slurmctld took it; else its words, or an error where a later try may be luckier.
Result<std::string> keep_away(const SeenJob& seen, const std::vector<std::string>& nodes, bool let_go) {
  const std::string list = fmt::format("{}", fmt::join(nodes, ","));
  job_desc_msg_t update;
  slurm_init_job_desc_msg(&update);
  job_number(update) = seen.info.job_id;
  update.user_id = getuid();
  if (!nodes.empty()) update.exc_nodes = c_text(list);
  if (let_go) update.priority = INFINITE;
  if (slurm_update_job(&update) == SLURM_SUCCESS) return std::string();
  const int number = errno;
  const std::string doing = fmt::format("keeping job {} away from {}", seen.info.job_id, list);
  if (number == code::kWaitsForSlurmdbd)
    return fail(Error(ErrorCode::busy, "slurmctld changes no job that slurmdbd has not heard of").in(doing));
  Error error = slurm_error(number, CallKind::effect, doing);
  if (error.code != ErrorCode::refused_by_slurm) return fail(std::move(error));
  return fmt::format("\"{}\" ({})", slurm_strerror(number), number);
}

// Seconds.  The submit time of a job that begins anew is when the last of its nodes had ended it.  slurmd
// knows by whole seconds which credentials were revoked with that end, and one of the same second is refused
// ("already killed"): the job has then failed, and Slurm puts off what it requeues by two minutes.  (Its
// clock may be a second off, too.)
constexpr std::time_t kAfterItsEnd = 2;

}  // namespace

Result<Json> requeue_job(const Json& args) {
  const Handle handle(args);
  const std::vector<std::string> wanted = sorted_hosts(args["exclude"].as_strings());
  auto seen = see_job(handle);
  if (!seen) return fail(std::move(seen.error()));
  if (is_whole_array(seen->info))
    return fail(Error(ErrorCode::conflict, fmt::format("job {} cannot be requeued by itself", handle.job_id))
                    .because("its number is that of a job array"));
  // A risen count: it began anew already, by Slurm or by a command whose answer was lost.
  const bool did = static_cast<std::int64_t>(seen->info.restart_cnt) <= args["restart_cnt"].as_int();
  if (did) {
    // Held where nodes are to be excluded: Slurm takes that only of a job that waits, and it must not begin
    // before.
    if (requeue(handle.job_id, wanted.empty() ? 0 : JOB_REQUEUE_HOLD) != SLURM_SUCCESS)
      return fail(requeue_error(errno, handle.job_id));
    seen = see_job(handle);
    if (!seen) return fail(std::move(seen.error()));
  }
  Json answer = Json::object({{"did", did}, {"excluded", false}, {"said", ""}});
  if (wanted.empty()) return answer;
  const std::vector<std::string> excluded = sorted_hosts(seen->job.excluded);
  const std::vector<std::string> all = hosts_in_either(excluded, wanted);
  if (seen->info.state != "PENDING")
    return answer.set("excluded", all == excluded)
        .set("said", all == excluded ? "" : fmt::format("job {} has begun already", handle.job_id));
  const bool held = seen->info.held && seen->why_held == kHeldByRequeue;
  if (all == excluded && !held) return answer.set("excluded", true);
  // One update for both: so it is never let go without its exclusion.
  auto said = keep_away(*seen, all, held);
  if (!said) return fail(std::move(said.error()));
  if (said->empty()) return answer.set("excluded", true);
  // It must not stay held for a wish that Slurm does not grant.
  if (held) {
    auto let_go = keep_away(*seen, {}, true);
    if (!let_go) return fail(std::move(let_go.error()));
    if (!let_go->empty())
      return fail(
          Error(ErrorCode::refused_by_slurm, *let_go).in(fmt::format("releasing job {}", handle.job_id)));
  }
  return answer.set("said", *said);
}

Result<Json> begin_now(const Json& args) {
  const Handle handle(args);
  const auto seen = see_job(handle);
  if (!seen) return fail(seen.error());
  const JobInfo& job = seen->info;
  // Only where it waits for that time alone: anything else was set by a person.
  if (job.state != "PENDING" || job.held || job.reason != "BeginTime" ||
      std::ranges::count(job.flags, "COMPLETING") != 0 || is_whole_array(job))
    return Json(false);
  const std::time_t now = time(nullptr);
  if (now < to_unix_seconds(job.submit) + kAfterItsEnd)
    return fail(Error(ErrorCode::busy, fmt::format("job {} has ended this moment", handle.job_id))
                    .because("slurmd launches no job whose credential is of the second in which it ended"));
  job_desc_msg_t update;
  slurm_init_job_desc_msg(&update);
  job_number(update) = handle.job_id;
  update.user_id = getuid();
  update.begin_time = now;
  if (slurm_update_job(&update) == SLURM_SUCCESS) return Json(true);
  const int number = errno;
  if (number == code::kWaitsForSlurmdbd)
    return fail(Error(ErrorCode::busy, "slurmctld changes no job that slurmdbd has not heard of"));
  return fail(slurm_error(number, CallKind::effect, fmt::format("letting job {} begin", handle.job_id)));
}

}  // namespace sickbay::slurm
