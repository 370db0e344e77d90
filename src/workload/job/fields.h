// SPDX-License-Identifier: Apache-2.0
// The fields of an accounting record: what any reader may say of a job or of one of its steps.
//
// One row per field, in two tables (numbers and texts), Slurm's names first.  A field that stands in the
// store is a column of its `jobs` table under the same name (workload/store/schema.cc makes the DDL from
// these tables; doc/formats/job.md lists them); the others are facts of steps that the merge turns into such
// columns. A new field goes here, into the readers that know it, and into the page.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace sickbay::workload {

/// What a number counts; it decides the store's type and the unit printed.
enum class Unit : std::uint8_t {
  count,         ///< BIGINT
  id,            ///< BIGINT, never summed
  time,          ///< seconds since 1970-01-01 UTC; TIMESTAMP in the store
  seconds,       ///< BIGINT
  core_seconds,  ///< BIGINT
  milliseconds,  ///< BIGINT (core-milliseconds of used CPU time)
  bytes,         ///< BIGINT
  joules,        ///< BIGINT
  bits,          ///< BIGINT, a set of flags
};

/// Who fills the store's column of a field.
enum class Column : std::uint8_t {
  no,     ///< a fact of steps only; not in the store
  job,    ///< from the job's own row; where that lacks it, from its steps
  steps,  ///< made from the steps by the merge
};

// clang-format off
//   name               unit               column         meaning (sacct's own field in parentheses)
#define SB_NUM_FIELDS(X) \
  X(job_id_raw,         Unit::id,           Column::job,   "numeric job id (JobIDRaw)") \
  X(array_job_id,       Unit::id,           Column::job,   "id of the job array") \
  X(array_task_id,      Unit::id,           Column::job,   "index in the job array") \
  X(array_tasks,        Unit::count,        Column::job,   "tasks that one row of a pending array stands for (\"4103947_[9-11,13%2]\": 4)") \
  X(het_job_id,         Unit::id,           Column::job,   "id of the heterogeneous job") \
  X(het_offset,         Unit::id,           Column::job,   "offset in the heterogeneous job") \
  X(uid,                Unit::id,           Column::job,   "numeric user id (UID)") \
  X(cancelled_by,       Unit::id,           Column::job,   "uid in \"CANCELLED by 1000\"") \
  X(submit_time,        Unit::time,         Column::job,   "submission (Submit)") \
  X(eligible_time,      Unit::time,         Column::job,   "when it might have started (Eligible)") \
  X(start_time,         Unit::time,         Column::job,   "start; absent when it never started (Start)") \
  X(end_time,           Unit::time,         Column::job,   "end; absent while it runs (End)") \
  X(elapsed,            Unit::seconds,      Column::job,   "run time (ElapsedRaw, Elapsed)") \
  X(time_limit,         Unit::seconds,      Column::job,   "time limit; absent when unlimited or the partition's (Timelimit)") \
  X(suspended,          Unit::seconds,      Column::job,   "time suspended (Suspended)") \
  X(req_cpus,           Unit::count,        Column::job,   "cores asked for (ReqCPUS)") \
  X(cpus,               Unit::count,        Column::job,   "cores allocated (AllocCPUS, NCPUS)") \
  X(req_nodes,          Unit::count,        Column::job,   "nodes asked for (ReqNodes)") \
  X(nodes,              Unit::count,        Column::job,   "nodes allocated (AllocNodes, NNodes)") \
  X(tasks,              Unit::count,        Column::job,   "processes; the most of any step (NTasks)") \
  X(req_gpus,           Unit::count,        Column::job,   "GPUs asked for (ReqTRES gres/gpu)") \
  X(gpus,               Unit::count,        Column::job,   "GPUs allocated (AllocTRES gres/gpu)") \
  X(cpu_time,           Unit::core_seconds, Column::job,   "core-seconds allocated: elapsed times cores (CPUTimeRAW)") \
  X(total_cpu,          Unit::milliseconds, Column::job,   "core-milliseconds used (TotalCPU; TRESUsageInTot cpu where that is 0)") \
  X(user_cpu,           Unit::milliseconds, Column::job,   "of it in user mode (UserCPU)") \
  X(system_cpu,         Unit::milliseconds, Column::job,   "of it in the system (SystemCPU)") \
  X(req_mem,            Unit::bytes,        Column::job,   "memory asked for, whole job (ReqMem, times nodes or cores where it is per node or core)") \
  X(max_rss,            Unit::bytes,        Column::steps, "largest resident set of any one process (MaxRSS)") \
  X(ave_rss,            Unit::bytes,        Column::steps, "largest average resident set of a step's processes (AveRSS)") \
  X(max_vmsize,         Unit::bytes,        Column::steps, "largest virtual size of any one process (MaxVMSize)") \
  X(job_rss,            Unit::bytes,        Column::steps, "most memory of a step, all its processes (TRESUsageInTot mem, else AveRSS times NTasks)") \
  X(disk_read,          Unit::bytes,        Column::steps, "read, summed over steps (TRESUsageInTot fs/disk, else AveDiskRead times NTasks)") \
  X(disk_write,         Unit::bytes,        Column::steps, "written, summed over steps (TRESUsageOutTot fs/disk, else AveDiskWrite times NTasks)") \
  X(energy,             Unit::joules,       Column::job,   "energy (ConsumedEnergyRaw)") \
  X(gpu_util_milli,     Unit::count,        Column::steps, "mean use of the GPUs in thousandths (TRESUsageInAve gres/gpuutil, else TRESUsageInTot over NTasks)") \
  X(gpu_mem,            Unit::bytes,        Column::steps, "most GPU memory of a step (TRESUsageInMax gres/gpumem)") \
  X(exit_code,          Unit::id,           Column::job,   "exit code (ExitCode before ':')") \
  X(exit_signal,        Unit::id,           Column::job,   "signal (ExitCode after ':')") \
  X(derived_exit_code,  Unit::id,           Column::job,   "highest exit code of a step (DerivedExitCode)") \
  X(priority,           Unit::id,           Column::job,   "priority (Priority)") \
  X(restarts,           Unit::count,        Column::job,   "times it was requeued (Restarts)") \
  X(steps,              Unit::count,        Column::steps, "steps seen, without batch and extern") \
  X(steps_failed,       Unit::count,        Column::steps, "of them that ended badly") \
  X(repairs,            Unit::bits,         Column::steps, "what was mended (enum Repair)") \
  X(flaws,              Unit::bits,         Column::steps, "what is wrong and was left as it is (enum Flaw)") \
  X(ave_disk_read,      Unit::bytes,        Column::no,    "read by a process of the step on average (AveDiskRead)") \
  X(ave_disk_write,     Unit::bytes,        Column::no,    "written likewise (AveDiskWrite)") \
  X(usage_cpu,          Unit::milliseconds, Column::no,    "TRESUsageInTot cpu") \
  X(usage_mem,          Unit::bytes,        Column::no,    "TRESUsageInTot mem") \
  X(usage_disk_in,      Unit::bytes,        Column::no,    "TRESUsageInTot fs/disk") \
  X(usage_disk_out,     Unit::bytes,        Column::no,    "TRESUsageOutTot fs/disk") \
  X(req_mem_per_node,   Unit::bytes,        Column::no,    "ReqMem with 'n'") \
  X(req_mem_per_cpu,    Unit::bytes,        Column::no,    "ReqMem with 'c' or the 2^31 flag")

//   name             column         meaning
#define SB_TEXT_FIELDS(X) \
  X(job_id,           Column::job,   "the job as sacct prints it: \"123\", \"4103947_9\", \"9380968+0\" (JobID)") \
  X(cluster,          Column::job,   "cluster (Cluster)") \
  X(job_name,         Column::job,   "name (JobName)") \
  X(user_name,        Column::job,   "user (User)") \
  X(group_name,       Column::job,   "group (Group)") \
  X(account,          Column::job,   "account (Account)") \
  X(partition,        Column::job,   "partition or queue (Partition)") \
  X(qos,              Column::job,   "quality of service (QOS)") \
  X(reservation,      Column::job,   "reservation (Reservation)") \
  X(state,            Column::job,   "base state in Slurm's word: COMPLETED, FAILED, ... (State)") \
  X(state_text,       Column::no,    "the state as the log has it, where the base word does not say all") \
  X(reason,           Column::job,   "why it waited or ended (Reason)") \
  X(node_list,        Column::job,   "nodes in hostlist form (NodeList)") \
  X(work_dir,         Column::job,   "work folder (WorkDir)") \
  X(submit_line,      Column::job,   "command line of the submission (SubmitLine)") \
  X(comment,          Column::job,   "comment (Comment)") \
  X(constraints,      Column::job,   "features asked for (Constraints)") \
  X(gpu_type,         Column::job,   "kind of GPU (AllocTRES gres/gpu:KIND)") \
  X(failed_node,      Column::job,   "node that failed (FailedNode)") \
  X(flags,            Column::job,   "flags (Flags)") \
  X(step_names,       Column::steps, "names of the steps, each once, sorted, joined by ' '; without batch and extern") \
  X(step,             Column::no,    "what stands after the first '.' of a step's id: \"0\", \"batch\", \"extern\"") \
  X(application,      Column::steps, "label: the application, or \"unknown\"") \
  X(version,          Column::steps, "version split off the executable's name") \
  X(app_field,        Column::steps, "field of the application, from the list of labels") \
  X(labelled_by,      Column::steps, "keyword, rename, step, submit_line, comment, work_dir, or the kind of unknown: default_name, interpreter, other")
// clang-format on

enum class Num : std::uint8_t {
#define X(name, unit, column, meaning) name,
  SB_NUM_FIELDS(X)
#undef X
};
enum class Text : std::uint8_t {
#define X(name, column, meaning) name,
  SB_TEXT_FIELDS(X)
#undef X
};

struct NumField {
  Num field;
  std::string_view name;
  Unit unit;
  Column column;
  std::string_view meaning;
};
struct TextField {
  Text field;
  std::string_view name;
  Column column;
  std::string_view meaning;
};

inline constexpr NumField kNumFields[] = {
#define X(name, unit, column, meaning) {Num::name, #name, unit, column, meaning},
    SB_NUM_FIELDS(X)
#undef X
};
inline constexpr TextField kTextFields[] = {
#define X(name, column, meaning) {Text::name, #name, column, meaning},
    SB_TEXT_FIELDS(X)
#undef X
};
inline constexpr std::size_t kNums = std::size(kNumFields);
inline constexpr std::size_t kTexts = std::size(kTextFields);
static_assert(kNums <= 64 && kTexts <= 64, "Row keeps one bit for each");

/// What the merge mended; bits of Num::repairs.
enum class Repair : std::uint8_t {
  state_from_steps,  ///< a job said COMPLETED with a failed step, or NODE_FAIL with cancelled steps (state as
                     ///< found is kept)
  req_mem_flag,      ///< ReqMem carried Slurm's 2^31 per-CPU flag as a number
  never_started,     ///< cancelled while pending, written as Start = End by old Slurm: start removed
  total_cpu_usage,   ///< TotalCPU was 0; TRESUsageInTot took its place
  elapsed_from_times,  ///< no run time given; end - start
  times_from_elapsed,  ///< no end given; start + elapsed
  job_from_steps,      ///< no row of the job itself; made from its steps
  name_delimiter,      ///< a delimiter or newline inside a free text; the row was put together again
  bad_utf8,            ///< bytes that are no UTF-8 became U+FFFD
  duplicate_rows,      ///< the same row came more than once
  text_cut,            ///< the log itself cut a text ("pbe_fe_2_+")
};
/// What is wrong and stays as it is; bits of Num::flaws.
enum class Flaw : std::uint8_t {
  end_before_start,
  start_before_submit,
  over_used,  ///< more CPU time used than 10 times what was allocated
  no_user,
  no_cpus,  ///< ran, and no cores said
  unknown_state,
  over_limit,  ///< ran more than an hour and 10 % over its limit
  in_future,   ///< was submitted, starts or ends more than a day after the newest import
  bad_value,   ///< a value that could not be read was left out
  no_start,    ///< ran, and no start said
};
inline constexpr std::int64_t bit(Repair r) { return std::int64_t{1} << static_cast<int>(r); }
inline constexpr std::int64_t bit(Flaw f) { return std::int64_t{1} << static_cast<int>(f); }

}  // namespace sickbay::workload
