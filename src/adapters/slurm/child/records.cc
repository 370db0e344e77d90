// SPDX-License-Identifier: GPL-2.0-or-later
#include "adapters/slurm/child/records.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>

#include "adapters/slurm/child/fields.h"
#include "model/slurm_state.h"

// The words of enum job_state_reason.  Both are exported by libslurm and print what squeue prints, yet no
// public header has declared them (22.05; renamed in 23.02).  Weak, so that a libslurm without them is fine.
// Its name differs between releases, and slurm.h of neither declares both: weak, so that the one that is
// there is taken.
extern "C" {
[[gnu::weak]] char* slurm_job_reason_string(unsigned reason);
[[gnu::weak]] char* slurm_job_state_reason_string(unsigned reason);
}

namespace sickbay::slurm {
namespace {

std::string reason_word(const slurm_job_info_t& record) {
  if (slurm_job_reason_string) return text(slurm_job_reason_string(record.state_reason));
  if (slurm_job_state_reason_string) return text(slurm_job_state_reason_string(record.state_reason));
  return fmt::format("{}", record.state_reason);
}

std::string file_name(void (*resolve)(char*, int, job_info_t*), slurm_job_info_t& record) {
  std::array<char, 4096> buffer{};
  resolve(buffer.data(), static_cast<int>(buffer.size()), &record);
  return buffer.data();
}

}  // namespace

std::vector<std::string> comma_words(const char* list) {
  std::vector<std::string> out;
  for (std::string_view rest = list ? list : ""; !rest.empty();) {
    const auto comma = rest.find(',');
    if (comma != 0) out.emplace_back(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return out;
}

// --requeue=expedite (since 25.11; tried with 26.05): a job whose script failed goes back at once where an
// epilog fails, too, and is held where none does.  Until all epilogs have ended it is FAILED and COMPLETING,
// with nothing in its state that says that it may run again.
bool is_expedited(const slurm_job_info_t& record) {
#ifdef EXPEDITED_REQUEUE
  return (record.bitflags & EXPEDITED_REQUEUE) != 0;
#else
  (void)record;
  return false;
#endif
}
bool may_go_back(const JobState& state) {
  return is_terminal(state) && state.has(JobFlag::completing) && state.base != JobBase::completed &&
         state.base != JobBase::cancelled;
}

JobInfo job_info(slurm_job_info_t& record) {
  JobInfo job;
  job.job_id = record.job_id;
  job.uid = record.user_id;
  job.name = text(record.name);
  job.comment = text(record.comment);
  job.partition = text(record.partition);
  // (A waiting job has a start_time, too: Slurm's guess.)
  bool started = record.start_time > 0, ended = false;
  if (auto state = job_state_from_word(record.job_state)) {
    if (is_expedited(record) && may_go_back(*state))
      state->flags |= static_cast<std::uint32_t>(JobFlag::expediting);
    job.state = base_name(*state);
    job.flags = flag_names(*state);
    started = state->base != JobBase::pending && started;
    ended = is_terminal(*state);
  } else {
    job.state = fmt::format("UNKNOWN{}", record.job_state & JOB_STATE_BASE);
  }
  job.restart_cnt = record.restart_cnt;
  job.held = record.priority == 0;
  job.submit = time_or_none(record.submit_time);
  job.start = started ? time_or_none(record.start_time) : kNoTime;
  job.end = ended ? time_or_none(record.end_time) : kNoTime;
  job.nodes = text(record.nodes);
  job.num_nodes = record.num_nodes;
  const int status = static_cast<int>(record.exit_code);
  if (WIFSIGNALED(status)) job.exit_signal = WTERMSIG(status);
  if (WIFEXITED(status)) job.exit_code = WEXITSTATUS(status);
  // derived_ec: the highest exit code of its steps, where the script hides it.
  const int step = record.derived_ec == NO_VAL ? 0 : static_cast<int>(record.derived_ec);
  if (WIFSIGNALED(step)) job.step_exit_signal = WTERMSIG(step);
  if (WIFEXITED(step)) job.step_exit_code = WEXITSTATUS(step);
  job.reason = reason_word(record);
  // Only these words tell Slurm's own hold from its owner's: the reason is JobHeldUser for both.
  if (text(record.state_desc) == "launch failed requeued held") job.reason = kLaunchFailedHeld;
  if (is_expedited(record) && (record.job_state & JOB_REQUEUE_HOLD) != 0) job.reason = kExpediteHeld;
  // (A person's `scontrol requeuehold state=specialexit` of a job that runs ends it by a signal.)
  const bool is_special = (record.job_state & JOB_SPECIAL_EXIT) != 0 && !started && !ended;
  if (is_special && job.held && job.exit_code > 0 && job.exit_signal == 0) job.reason = kExitHeld;
  job.reservation = text(record.resv_name);
  if (!started && !ended) job.expected_start = time_or_none(record.start_time);
  job.time_limit_s = limit_seconds(number_or_none(record.time_limit));
  job.work_dir = text(record.work_dir);
  // Resolved here, while slurmctld still knows the job: later nobody can tell what %j was.
  if (record.batch_flag) {
    job.std_out = file_name(slurm_get_job_stdout, record);
    job.std_err = file_name(slurm_get_job_stderr, record);
  }
  if (record.array_job_id != 0 && record.array_job_id != NO_VAL) {
    job.array_job_id = record.array_job_id;
    job.array_task_id = record.array_task_id == NO_VAL ? text(record.array_task_str)
                                                       : fmt::format("{}", record.array_task_id);
  }
  return job;
}

NodeInfo node_info(const node_info_t& record) {
  NodeInfo node;
  node.name = text(record.name);
  if (const auto state = node_state_from_word(record.node_state)) {
    node.state = base_name(*state);
    node.flags = flag_names(*state);
  } else {
    node.state = fmt::format("UNKNOWN{}", record.node_state & NODE_STATE_BASE);
  }
  node.cpus = record.cpus;
  node.partitions = comma_words(record.partitions);
  node.reason = text(record.reason);
  // slurmctld leaves NO_VAL where nobody set a reason; 0 would read as root.
  node.reason_uid = node.reason.empty() ? 0 : record.reason_uid;
  node.boot_time = time_or_none(record.boot_time);
  node.address = text(record.node_addr);
  node.port = record.port;
  return node;
}

}  // namespace sickbay::slurm
