// SPDX-License-Identifier: Apache-2.0
#include "workload/read/csv_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/json.h"
#include "base/spelling.h"
#include "base/text.h"

namespace sickbay::workload {
namespace {

struct Known {
  std::string_view name, sacct;
  Turn turn = Turn::none;
};
// clang-format off
// Our own fields, as the store exports them, under the names of doc/formats/job.md.
constexpr auto kFields = std::to_array<Known>({
    {"job_id", "JobID"}, {"job_id_raw", "JobIDRaw"}, {"cluster", "Cluster"}, {"job_name", "JobName"},
    {"user_name", "User"}, {"uid", "UID"}, {"group_name", "Group"}, {"account", "Account"},
    {"partition", "Partition"}, {"qos", "QOS"}, {"reservation", "Reservation"}, {"state", "State"},
    {"reason", "Reason"}, {"node_list", "NodeList"}, {"work_dir", "WorkDir"}, {"submit_line", "SubmitLine"},
    {"comment", "Comment"}, {"constraints", "Constraints"}, {"failed_node", "FailedNode"}, {"flags", "Flags"},
    {"submit_time", "Submit"}, {"eligible_time", "Eligible"}, {"start_time", "Start"}, {"end_time", "End"},
    {"elapsed", "Elapsed", Turn::seconds}, {"time_limit", "Timelimit", Turn::seconds},
    {"suspended", "Suspended", Turn::seconds}, {"cpu_time", "CPUTime", Turn::seconds},
    {"total_cpu", "TotalCPU", Turn::milliseconds}, {"user_cpu", "UserCPU", Turn::milliseconds},
    {"system_cpu", "SystemCPU", Turn::milliseconds}, {"req_cpus", "ReqCPUS", Turn::whole},
    {"cpus", "AllocCPUS", Turn::whole}, {"req_nodes", "ReqNodes", Turn::whole}, {"nodes", "AllocNodes", Turn::whole},
    {"tasks", "NTasks", Turn::whole}, {"req_gpus", "ReqTRES", Turn::gpus}, {"gpus", "AllocTRES", Turn::gpus},
    {"req_mem", "ReqMem", Turn::bytes}, {"max_rss", "MaxRSS", Turn::bytes}, {"ave_rss", "AveRSS", Turn::bytes},
    {"max_vmsize", "MaxVMSize", Turn::bytes}, {"energy", "ConsumedEnergyRaw", Turn::whole}, {"exit_code", "ExitCode"},
    {"priority", "Priority", Turn::whole}, {"restarts", "Restarts", Turn::whole},
});
// What dumps of other sites call them, in small letters and without '_', '-', '.' and blanks.
constexpr auto kAliases = std::to_array<Known>({
    {"id", "JobID"}, {"job", "JobID"}, {"jobnumber", "JobID"}, {"idjob", "JobID"}, {"slurmjobid", "JobID"},
    {"name", "JobName"}, {"username", "User"}, {"owner", "User"}, {"iduser", "UID"}, {"userid", "UID"},
    {"project", "Account"}, {"projectname", "Account"}, {"queue", "Partition"}, {"queuename", "Partition"},
    {"submittime", "Submit"}, {"submissiontime", "Submit"}, {"timesubmit", "Submit"}, {"qtime", "Submit"},
    {"ctime", "Submit"}, {"starttime", "Start"}, {"timestart", "Start"}, {"endtime", "End"}, {"timeend", "End"},
    {"eligibletime", "Eligible"}, {"timeeligible", "Eligible"},
    {"runtime", "Elapsed", Turn::seconds}, {"walltime", "Elapsed", Turn::seconds},
    {"walltimeused", "Elapsed", Turn::seconds}, {"wallclockused", "Elapsed", Turn::seconds},
    {"wallclockreq", "Timelimit", Turn::seconds}, {"walltimereq", "Timelimit", Turn::seconds},
    {"requestedtime", "Timelimit", Turn::seconds}, {"reqwalltime", "Timelimit", Turn::seconds},
    {"nodesreq", "ReqNodes", Turn::whole}, {"nodesused", "AllocNodes", Turn::whole},
    {"nnodes", "NNodes", Turn::whole}, {"nodecount", "AllocNodes", Turn::whole}, {"numnodes", "AllocNodes", Turn::whole},
    {"processorsreq", "ReqCPUS", Turn::whole}, {"processorsused", "AllocCPUS", Turn::whole},
    {"cpusreq", "ReqCPUS", Turn::whole}, {"cpusused", "AllocCPUS", Turn::whole}, {"cores", "AllocCPUS", Turn::whole},
    {"numcores", "AllocCPUS", Turn::whole}, {"numcpus", "AllocCPUS", Turn::whole},
    {"gpusreq", "ReqTRES", Turn::gpus}, {"gpusused", "AllocTRES", Turn::gpus}, {"numgpus", "AllocTRES", Turn::gpus},
    {"memreq", "ReqMem", Turn::mib}, {"exitstatus", "ExitCode"}, {"status", "State"}, {"jobstate", "State"},
    {"workdirectory", "WorkDir"}, {"workingdirectory", "WorkDir"}, {"command", "SubmitLine"},
});
struct Unit {
  std::string_view name;
  Turn turn;
};
constexpr auto kUnits = std::to_array<Unit>({
    {"seconds", Turn::seconds}, {"minutes", Turn::minutes}, {"milliseconds", Turn::milliseconds},
    {"bytes", Turn::bytes}, {"KiB", Turn::kib}, {"MiB", Turn::mib}, {"text", Turn::none},
});
// clang-format on

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : trimmed(name))
    if (c != '_' && c != '-' && c != '.' && c != ' ') out += to_lower(c);
  return out;
}

Result<MappedColumn> mapped_field(std::string_view field) {
  const MappedColumn found = known_column(field);
  if (!found.sacct.empty()) return found;
  std::vector<std::string_view> names;
  for (const Known& known : kFields) names.push_back(known.name);
  const std::string near = did_you_mean(field, names);
  return fail(
      Error(ErrorCode::bad_input, fmt::format("the map of columns has no field {}", quote_for_message(field)))
          .remedied_by(near.empty() ? fmt::format("the fields are {}", fmt::join(names, ", "))
                                    : fmt::format("did you mean '{}'?", near)));
}

Result<std::size_t> index_of(const std::vector<std::string>& header, std::string_view name) {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (trimmed(header[i]) == name) return i;
  for (std::size_t i = 0; i < header.size(); ++i)
    if (equal_ignoring_case(trimmed(header[i]), name)) return i;
  const std::vector<std::string_view> names(header.begin(), header.end());
  const std::string near = did_you_mean(name, names);
  return fail(Error(ErrorCode::bad_input, fmt::format("the log has no column {}", quote_for_message(name)))
                  .remedied_by(near.empty()
                                   ? std::string("name the columns in the map as the log's first line does")
                                   : fmt::format("did you mean {}?", quote_for_message(near))));
}

// The members of a map, in place of the names of the columns that they name.
Result<std::vector<CsvColumn>> read_map(const std::vector<std::string>& header, std::string_view text) {
  auto map = Json::parse(text);
  if (!map || !map->is_object())
    return fail(Error(ErrorCode::bad_input, map ? fmt::format("the map of columns is a {}", map->type_name())
                                                : "the map of columns: " + map.error().what)
                    .remedied_by("write it as {\"job_id\": \"NAME OF ITS COLUMN\", \"submit_time\": ...}"));
  std::vector<CsvColumn> columns;
  for (const auto& [field, value] : map->members()) {
    auto mapped = mapped_field(field);
    if (!mapped) return fail(std::move(mapped.error()));
    const std::string& name = value.is_object() ? value["column"].as_string() : value.as_string();
    auto index = index_of(header, name);
    if (!index) return fail(std::move(index.error()));
    if (value.has("unit")) {
      const auto& unit = value["unit"].as_string();
      const auto* found = std::find_if(kUnits.begin(), kUnits.end(),
                                       [&](const Unit& u) { return equal_ignoring_case(u.name, unit); });
      if (found == kUnits.end())
        return fail(
            Error(ErrorCode::bad_input,
                  fmt::format("the map of columns has the unit {}", quote_for_message(unit)))
                .remedied_by("the units are seconds, minutes, milliseconds, bytes, KiB, MiB and text"));
      mapped->turn = found->turn;
    }
    columns.push_back({*index, *std::move(mapped)});
  }
  return columns;
}

}  // namespace

MappedColumn known_column(std::string_view name) {
  name = trimmed(name);
  for (const Known& known : kFields)
    if (name == known.name) return {std::string(known.sacct), known.turn};
  if (const auto* column = sacct::find_column(name)) return {std::string(column->name), Turn::none};
  const std::string small = plain(name);
  for (const Known& known : kAliases)
    if (small == known.name) return {std::string(known.sacct), known.turn};
  if (const auto* column = sacct::find_column(small)) return {std::string(column->name), Turn::none};
  return {};
}

Result<std::vector<CsvColumn>> csv_columns(const std::vector<std::string>& header, std::string_view map) {
  std::vector<CsvColumn> columns;
  if (!map.empty()) {
    auto mapped = read_map(header, map);
    if (!mapped) return mapped;
    columns = *std::move(mapped);
  }
  const std::size_t by_map = columns.size();
  for (std::size_t i = 0; i < header.size(); ++i) {
    const auto begin = columns.begin(), end = begin + static_cast<std::ptrdiff_t>(by_map);
    if (std::any_of(begin, end, [&](const CsvColumn& c) { return c.index == i; })) continue;
    MappedColumn mapped = known_column(header[i]);
    if (mapped.sacct.empty() || std::any_of(columns.begin(), columns.end(), [&](const CsvColumn& c) {
          return c.mapped.sacct == mapped.sacct;
        }))
      continue;
    columns.push_back({i, std::move(mapped)});
  }
  const bool has_job = std::any_of(columns.begin(), columns.end(), [](const CsvColumn& c) {
    return c.mapped.sacct == "JobID" || c.mapped.sacct == "JobIDRaw";
  });
  if (!has_job)
    return fail(
        Error(ErrorCode::bad_input,
              fmt::format("no column of the log is known to hold the job's id: {}",
                          quote_for_message(fmt::format("{}", fmt::join(header, ", ")), 100)))
            .because("without it no row can be put to its job")
            .remedied_by("say which one it is in a map of columns: {\"job_id\": \"NAME OF ITS COLUMN\"}"));
  return columns;
}

}  // namespace sickbay::workload
