// SPDX-License-Identifier: Apache-2.0
#include "workload/read/sacct_columns.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/slurm_state.h"
#include "workload/job/values.h"

namespace sickbay::workload::sacct {
namespace {

constexpr Column num(std::string_view name, Op op, Num field, Shape shape, std::uint8_t rank = 1) {
  return {name, op, static_cast<std::uint8_t>(field), shape, rank};
}
constexpr Column text(std::string_view name, Op op, Text field, Shape shape) {
  return {name, op, static_cast<std::uint8_t>(field), shape, 1};
}
constexpr Column set(std::string_view name, Op op, Shape shape, std::uint8_t rank = 1) {
  return {name, op, 0, shape, rank};
}
constexpr Column unused(std::string_view name, Shape shape) { return {name, Op::none, 0, shape, 1}; }

// Rank 2 goes before rank 1, and what is read out of TRES (rank 0) comes last.
// clang-format off
constexpr auto kColumns = std::to_array<Column>({
    text("Account",           Op::text,          Text::account,         Shape::word),
    unused("AdminComment",                                              Shape::free),
    num("AllocCPUS",          Op::count,         Num::cpus,             Shape::number, 2),
    set("AllocGRES",          Op::alloc_gres,                           Shape::word),
    num("AllocNodes",         Op::count,         Num::nodes,            Shape::number, 2),
    set("AllocTRES",          Op::alloc_tres,                           Shape::tres, 0),
    unused("AssocID",                                                   Shape::number),
    unused("AveCPU",                                                    Shape::duration),
    unused("AveCPUFreq",                                                Shape::word),
    num("AveDiskRead",        Op::bytes,         Num::ave_disk_read,    Shape::number),
    num("AveDiskWrite",       Op::bytes,         Num::ave_disk_write,   Shape::number),
    unused("AvePages",                                                  Shape::number),
    num("AveRSS",             Op::bytes,         Num::ave_rss,          Shape::number),
    unused("AveVMSize",                                                 Shape::number),
    unused("BlockID",                                                   Shape::word),
    text("Cluster",           Op::text,          Text::cluster,         Shape::word),
    text("Comment",           Op::free_text,     Text::comment,         Shape::free),
    num("ConsumedEnergy",     Op::energy,        Num::energy,           Shape::number),
    num("ConsumedEnergyRaw",  Op::energy,        Num::energy,           Shape::number, 2),
    text("Constraints",       Op::text,          Text::constraints,     Shape::free),
    unused("Container",                                                 Shape::free),
    num("CPUTime",            Op::seconds,       Num::cpu_time,         Shape::duration),
    num("CPUTimeRAW",         Op::raw_seconds,   Num::cpu_time,         Shape::number, 2),
    unused("DBIndex",                                                   Shape::number),
    num("DerivedExitCode",    Op::derived_exit,  Num::derived_exit_code, Shape::exit),
    num("Elapsed",            Op::seconds,       Num::elapsed,          Shape::duration),
    num("ElapsedRaw",         Op::raw_seconds,   Num::elapsed,          Shape::number, 2),
    num("Eligible",           Op::time,          Num::eligible_time,    Shape::time),
    num("End",                Op::time,          Num::end_time,         Shape::time),
    set("ExitCode",           Op::exit,                                 Shape::exit),
    unused("Extra",                                                     Shape::free),
    text("FailedNode",        Op::text,          Text::failed_node,     Shape::word),
    text("Flags",             Op::text,          Text::flags,           Shape::word),
    unused("GID",                                                       Shape::number),
    text("Group",             Op::text,          Text::group_name,      Shape::any),
    set("JobID",              Op::job_id,                               Shape::id),
    set("JobIDRaw",           Op::job_id_raw,                           Shape::id),
    text("JobName",           Op::free_text,     Text::job_name,        Shape::free),
    unused("Layout",                                                    Shape::word),
    unused("Licenses",                                                  Shape::word),
    unused("MaxDiskRead",                                               Shape::number),
    unused("MaxDiskReadNode",                                           Shape::word),
    unused("MaxDiskReadTask",                                           Shape::number),
    unused("MaxDiskWrite",                                              Shape::number),
    unused("MaxDiskWriteNode",                                          Shape::word),
    unused("MaxDiskWriteTask",                                          Shape::number),
    unused("MaxPages",                                                  Shape::number),
    unused("MaxPagesNode",                                              Shape::word),
    unused("MaxPagesTask",                                              Shape::number),
    num("MaxRSS",             Op::bytes,         Num::max_rss,          Shape::number),
    unused("MaxRSSNode",                                                Shape::word),
    unused("MaxRSSTask",                                                Shape::number),
    num("MaxVMSize",          Op::bytes,         Num::max_vmsize,       Shape::number),
    unused("MaxVMSizeNode",                                             Shape::word),
    unused("MaxVMSizeTask",                                             Shape::number),
    unused("McsLabel",                                                  Shape::word),
    unused("MinCPU",                                                    Shape::duration),
    unused("MinCPUNode",                                                Shape::word),
    unused("MinCPUTask",                                                Shape::number),
    num("NCPUS",              Op::count,         Num::cpus,             Shape::number),
    num("NNodes",             Op::count,         Num::nodes,            Shape::number),
    text("NodeList",          Op::text,          Text::node_list,       Shape::any),
    num("NTasks",             Op::count,         Num::tasks,            Shape::number),
    text("Partition",         Op::text,          Text::partition,       Shape::word),
    unused("Planned",                                                   Shape::duration),
    unused("PlannedCPU",                                                Shape::duration),
    unused("PlannedCPURAW",                                             Shape::number),
    num("Priority",           Op::integer,       Num::priority,         Shape::number),
    text("QOS",               Op::text,          Text::qos,             Shape::word),
    unused("QOSRAW",                                                    Shape::number),
    unused("QOSREQ",                                                    Shape::word),
    text("Reason",            Op::text,          Text::reason,          Shape::any),
    unused("ReqCPUFreq",                                                Shape::word),
    unused("ReqCPUFreqGov",                                             Shape::word),
    unused("ReqCPUFreqMax",                                             Shape::word),
    unused("ReqCPUFreqMin",                                             Shape::word),
    num("ReqCPUS",            Op::count,         Num::req_cpus,         Shape::number),
    unused("ReqGRES",                                                   Shape::word),
    set("ReqMem",             Op::req_mem,                              Shape::any),
    num("ReqNodes",           Op::count,         Num::req_nodes,        Shape::number),
    unused("ReqReservation",                                            Shape::word),
    set("ReqTRES",            Op::req_tres,                             Shape::tres, 0),
    text("Reservation",       Op::text,          Text::reservation,     Shape::word),
    unused("ReservationId",                                             Shape::number),
    unused("Reserved",                                                  Shape::duration),
    num("Restarts",           Op::integer,       Num::restarts,         Shape::number),
    unused("ResvCPU",                                                   Shape::duration),
    unused("ResvCPURAW",                                                Shape::number),
    unused("SegmentSize",                                               Shape::number),
    unused("SLUID",                                                     Shape::word),
    num("Start",              Op::time,          Num::start_time,       Shape::time),
    set("State",              Op::state,                                Shape::state),
    unused("StdErr",                                                    Shape::path),
    unused("StdIn",                                                     Shape::path),
    unused("StdOut",                                                    Shape::path),
    num("Submit",             Op::time,          Num::submit_time,      Shape::time),
    text("SubmitLine",        Op::free_text,     Text::submit_line,     Shape::command),
    num("Suspended",          Op::seconds,       Num::suspended,        Shape::duration),
    unused("SystemComment",                                             Shape::free),
    num("SystemCPU",          Op::milliseconds,  Num::system_cpu,       Shape::duration),
    num("Timelimit",          Op::limit,         Num::time_limit,       Shape::limit),
    num("TimelimitRaw",       Op::limit,         Num::time_limit,       Shape::limit, 2),
    num("TotalCPU",           Op::milliseconds,  Num::total_cpu,        Shape::duration),
    set("TRESUsageInAve",     Op::usage_in_ave,                         Shape::tres, 0),
    set("TRESUsageInMax",     Op::usage_in_max,                         Shape::tres, 0),
    unused("TRESUsageInMaxNode",                                        Shape::tres),
    unused("TRESUsageInMaxTask",                                        Shape::tres),
    unused("TRESUsageInMin",                                            Shape::tres),
    unused("TRESUsageInMinNode",                                        Shape::tres),
    unused("TRESUsageInMinTask",                                        Shape::tres),
    set("TRESUsageInTot",     Op::usage_in_tot,                         Shape::tres, 0),
    unused("TRESUsageOutAve",                                           Shape::tres),
    unused("TRESUsageOutMax",                                           Shape::tres),
    unused("TRESUsageOutMaxNode",                                       Shape::tres),
    unused("TRESUsageOutMaxTask",                                       Shape::tres),
    unused("TRESUsageOutMin",                                           Shape::tres),
    unused("TRESUsageOutMinNode",                                       Shape::tres),
    unused("TRESUsageOutMinTask",                                       Shape::tres),
    set("TRESUsageOutTot",    Op::usage_out_tot,                        Shape::tres, 0),
    num("UID",                Op::integer,       Num::uid,              Shape::number),
    text("User",              Op::text,          Text::user_name,       Shape::any),
    num("UserCPU",            Op::milliseconds,  Num::user_cpu,         Shape::duration),
    unused("WCKey",                                                     Shape::word),
    unused("WCKeyID",                                                   Shape::number),
    text("WorkDir",           Op::free_text,     Text::work_dir,        Shape::path),
});
// clang-format on

// A number, with a unit, or several with ':' or '%': what sacct prints in its columns of numbers.
bool looks_like_number(std::string_view text) {
  std::int64_t n = 0;
  return parse_integer(text, n) || parse_bytes(text, 1, n) ||
         (text.size() == 20 && std::all_of(text.begin(), text.end(), is_digit));  // NO_VAL64
}

bool looks_like_state(std::string_view text) {
  Row row;
  row.clear();
  parse_state(text, row);
  return !row.has(Num::flaws);
}

}  // namespace

std::span<const Column> columns() { return kColumns; }

const Column* find_column(std::string_view name) {
  name = trimmed(name.substr(0, name.find('%')));
  for (const Column& column : kColumns)
    if (equal_ignoring_case(name, column.name)) return &column;
  return nullptr;
}

FieldSet fields_of(const Column& column) {
  switch (column.op) {
    case Op::none:
      return {};
    case Op::job_id:
    case Op::job_id_raw:
      return FieldSet::of(Text::job_id, Text::step, Num::job_id_raw, Num::array_job_id, Num::array_task_id,
                          Num::array_tasks, Num::het_job_id, Num::het_offset);
    case Op::free_text:
    case Op::text:
      return FieldSet::of(static_cast<Text>(column.field));
    case Op::req_mem:
      return FieldSet::of(Num::req_mem, Num::req_mem_per_node, Num::req_mem_per_cpu);
    case Op::exit:
      return FieldSet::of(Num::exit_code, Num::exit_signal);
    case Op::state:
      return FieldSet::of(Text::state, Text::state_text, Num::cancelled_by);
    case Op::alloc_gres:
      return FieldSet::of(Num::gpus, Text::gpu_type);
    case Op::alloc_tres:
      return FieldSet::of(Num::cpus, Num::nodes, Num::gpus, Text::gpu_type);
    case Op::req_tres:
      return FieldSet::of(Num::req_cpus, Num::req_nodes, Num::req_mem, Num::req_gpus);
    case Op::usage_in_tot:
      return FieldSet::of(Num::usage_cpu, Num::usage_mem, Num::usage_disk_in, Num::gpu_util_milli);
    case Op::usage_out_tot:
      return FieldSet::of(Num::usage_disk_out);
    case Op::usage_in_ave:
      return FieldSet::of(Num::gpu_util_milli);
    case Op::usage_in_max:
      return FieldSet::of(Num::gpu_mem);
    default:
      return FieldSet::of(static_cast<Num>(column.field));
  }
}

bool fits(Shape shape, std::string_view text) {
  if (is_absent(text)) return shape != Shape::id;
  std::int64_t n = 0;
  switch (shape) {
    case Shape::any:
    case Shape::free:
      return true;
    case Shape::path:
      return text.front() == '/';
    case Shape::command: {
      text = text.substr(0, text.find(' '));
      if (const std::size_t slash = text.rfind('/'); slash != std::string_view::npos)
        text.remove_prefix(slash + 1);
      return text == "sbatch" || text == "srun" || text == "salloc";
    }
    case Shape::word:
      return text.find_first_of(" \t\n\"'$;") == std::string_view::npos;
    case Shape::state:
      return looks_like_state(text);
    case Shape::id: {
      Row row;
      row.clear();
      return text.front() != '0' && parse_job_id(text, row);  // Slurm counts from 1
    }
    case Shape::time: {
      static const TimeZone kUtc = TimeZone::make("UTC").value();
      // Seconds since 1970 too, but not any small number: before 1973 there was no Slurm.
      return text.size() >= 9 && parse_timestamp(text, kUtc, n);
    }
    case Shape::duration:
      return parse_elapsed_ms(text, n);
    case Shape::limit:
      return parse_limit(text, n);
    case Shape::number:
      return looks_like_number(text);
    case Shape::exit: {
      Row row;
      row.clear();
      return parse_exit(text, row);
    }
    case Shape::tres:
      return for_each_tres(text, [](std::string_view, std::string_view) {});
  }
  return true;
}

}  // namespace sickbay::workload::sacct
