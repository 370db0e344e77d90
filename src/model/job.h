// SPDX-License-Identifier: Apache-2.0
// A job and a node as Slurm shows them, and the parts of a submission: plain values.
//
// adapters/slurm and adapters/sim both fill these; nothing else does.  States are kept in Slurm's own words
// (model/slurm_state.h reads them), so that what the journal shows is what `scontrol` shows.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/ids.h"

namespace sickbay {

/// JobInfo::reason of a job that slurmd would not start ("Duplicate jobid", say) and that Slurm therefore put
/// back into the queue and holds, until somebody releases it; as scontrol prints it.
inline constexpr std::string_view kLaunchFailedHeld = "launch_failed_requeued_held";

/// JobInfo::reason of a job with --requeue=expedite (Slurm 25.11) whose batch script failed while no epilog
/// did: Slurm has put it back into the queue and holds it, until its owner releases it.  Slurm's own word for
/// it is JobHeldUser.
inline constexpr std::string_view kExpediteHeld = "expedited_requeue_held";

/// JobInfo::reason of a job whose batch script failed with an exit code for which its site has such jobs put
/// back and held (slurm.conf, RequeueExitHold; or an epilog that asks for SPECIAL_EXIT).  Slurm's own word
/// for it is JobHeldUser.
inline constexpr std::string_view kExitHeld = "exit_code_requeued_held";

/// A job at one moment.  Times are Slurm's (data, never an order); kNoTime where not set.
struct JobInfo {
  static constexpr int kFields = 27;  ///< base/state_archive.h
  JobId job_id = 0;
  std::uint32_t uid = 0;
  std::string name;
  std::string comment;
  std::string partition;
  std::string state;               ///< base state, Slurm's word: "RUNNING", "NODE_FAIL"
  std::vector<std::string> flags;  ///< Slurm's state flags: "COMPLETING", "REQUEUED"
  std::uint32_t restart_cnt = 0;
  bool held = false;  ///< priority 0
  TimePoint submit = kNoTime, start = kNoTime, end = kNoTime;
  std::string nodes;  ///< hostlist of the allocation; empty before it and after a requeue
  std::uint32_t num_nodes = 0;
  int exit_code = 0;  ///< of the batch script
  int exit_signal = 0;
  std::string reason;             ///< Slurm's state reason: "Resources", "BadConstraints", "TimeLimit"
  std::int64_t time_limit_s = 0;  ///< 0 = unlimited
  std::string work_dir, std_out, std_err;
  JobId array_job_id = 0;  ///< of the job array that it is a task of; 0: of none
  /// As scontrol shows it: "7" for a task; "8-19" for the one record of those that have not started.
  std::string array_task_id;
  std::string reservation;  ///< that it asks for, or runs in; empty: none
  /// Slurm's DerivedExitCode: the worst of its steps, which a batch script may have passed over.
  int step_exit_code = 0, step_exit_signal = 0;
  /// Of one that waits: when Slurm expects to start it, as of the look that showed it.
  TimePoint expected_start = kNoTime;

  /// (The last four only where they are set: journals of older versions have no word for them.)
  Json to_json() const;
  static JobInfo from_json(const Json& json);
  friend bool operator==(const JobInfo&, const JobInfo&) = default;
};

/// A time limit as JobInfo has it, from the minutes that Slurm shows: a year or more is none.  Of a job
/// without a limit the main scheduler shows none, but the backfill scheduler, where it starts the job, writes
/// a year of 365 days into its record (measured with 22.05), and which of the two it was is chance.
inline std::int64_t limit_seconds(std::int64_t minutes) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 60;
  return minutes >= kYear ? 0 : minutes * 60;
}

/// Whether a node that shows the boot time `boot` has booted since `before`.  Slurm reckons a boot time anew
/// at each registration of the node, so one boot has times that differ by a second or so.
inline bool booted_since(TimePoint boot, TimePoint before) { return boot > before + std::chrono::seconds(5); }

/// A node at one moment.
struct NodeInfo {
  std::string name;
  std::string state;               ///< base state: "IDLE", "ALLOCATED", "MIXED", "DOWN", ...
  std::vector<std::string> flags;  ///< "DRAIN", "NOT_RESPONDING", "FAIL", ...
  std::uint32_t cpus = 0;
  std::vector<std::string> partitions;
  std::string reason;  ///< why it is drained or down, with whoever set it
  std::uint32_t reason_uid = 0;
  TimePoint boot_time = kNoTime;  ///< compare by booted_since()
  std::string address;            ///< Slurm's NodeAddr: a name or a numeric address
  std::uint16_t port = 0;         ///< TCP, of its slurmd; 0: not told

  Json to_json() const;
  static NodeInfo from_json(const Json& json);
  friend bool operator==(const NodeInfo&, const NodeInfo&) = default;
};

/// Who a job belongs to.
struct Owner {
  static constexpr int kFields = 3;  ///< base/state_archive.h
  std::string user;
  std::uint32_t uid = 0, gid = 0;

  Json to_json() const;
  static Owner from_json(const Json& json);
  friend bool operator==(const Owner&, const Owner&) = default;
};

/// All that is needed to run P again as it ran first (doc/design/identify.md, "a re-run stays faithful").
/// Secret (the environment may hold keys): kept in cases/ID/submission.json, mode 0600, never in the journal.
struct Submission {
  Owner owner;
  std::string script;                       ///< the whole text, from "#!"
  std::string script_name;                  ///< file name as given, "stdin" where it was piped
  std::vector<std::string> sbatch_options;  ///< before the script
  std::vector<std::string> script_args;     ///< after the script
  std::vector<std::string> environment;     ///< "NAME=value"
  std::string work_dir;
  std::uint32_t umask = 022;
  std::vector<std::pair<std::string, std::int64_t>>
      limits;  ///< soft rlimits, "NOFILE" -> 1024; -1 = unlimited

  Json to_json() const;
  /// Takes in what a stranger may have written: known limits only, lists and texts of bounded length. Errors:
  /// bad_input, with cause and remedy.
  static Result<Submission> from_json(const Json& json);
  friend bool operator==(const Submission&, const Submission&) = default;
};

}  // namespace sickbay
