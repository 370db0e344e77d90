// SPDX-License-Identifier: Apache-2.0
#include "model/running_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"

namespace sickbay {
namespace {

tl::unexpected<Error> no(const RunningJob& job, std::string_view why, std::string cause, std::string remedy) {
  return fail(Error(ErrorCode::conflict, fmt::format("job {} {}", job.job_id, why))
                  .because(std::move(cause))
                  .remedied_by(std::move(remedy)));
}

}  // namespace

std::vector<CpuGroup> group_cpus(const std::vector<std::uint32_t>& cpus) {
  std::vector<CpuGroup> groups;
  for (const std::uint32_t n : cpus) {
    // Runs of equal numbers in the order of the nodes, as in Slurm's own "4(x2),8": the order says which
    // node has which.
    if (groups.empty() || groups.back().cpus != n) groups.push_back({n, 0});
    ++groups.back().count;
  }
  return groups;
}

std::vector<std::uint32_t> ungroup_cpus(const std::vector<CpuGroup>& groups) {
  std::vector<std::uint32_t> cpus;
  for (const CpuGroup& group : groups) cpus.insert(cpus.end(), group.count, group.cpus);
  return cpus;
}

std::string cpus_per_node_text(const std::vector<CpuGroup>& groups) {
  std::string text;
  for (const CpuGroup& group : groups) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", group.cpus);
    if (group.count > 1) text += fmt::format("(x{})", group.count);
  }
  return text;
}

Json cpu_groups_to_json(const std::vector<CpuGroup>& groups) {
  Json::Array array;
  for (const CpuGroup& group : groups)
    array.push_back(Json::object({{"cpus", group.cpus}, {"count", group.count}}));
  return Json(std::move(array));
}

std::vector<CpuGroup> cpu_groups_from_json(const Json& json) {
  std::vector<CpuGroup> groups;
  for (const Json& item : json.items())
    groups.push_back({static_cast<std::uint32_t>(item["cpus"].as_int()),
                      static_cast<std::uint32_t>(item["count"].as_int())});
  return groups;
}

Json RunningJob::to_json() const {
  Json json = Json::object({{"job_id", job_id},
                            {"uid", uid},
                            {"gid", gid},
                            {"submit", to_micros(submit)},
                            {"start", to_micros(start)},
                            {"name", name},
                            {"state", state},
                            {"flags", flags},
                            {"nodes", nodes},
                            {"cpus_per_node", cpu_groups_to_json(cpus_per_node)},
                            {"batch", batch},
                            {"batch_host", batch_host},
                            {"time_limit_min", time_limit_min},
                            {"memory_mib", memory_mib},
                            {"memory_per_cpu", memory_per_cpu},
                            {"tasks_per_node", tasks_per_node},
                            {"cpus_per_task", cpus_per_task},
                            {"threads_per_core", threads_per_core},
                            {"core_spec", core_spec},
                            {"het_job_id", het_job_id},
                            {"het_offset", het_offset},
                            {"array_job_id", array_job_id}});
  json.set("partition", partition).set("account", account).set("qos", qos).set("reservation", reservation);
  json.set("features", features).set("tres_per_node", tres_per_node).set("tres_per_socket", tres_per_socket);
  json.set("tres_per_task", tres_per_task).set("tres_per_job", tres_per_job).set("gres", gres);
  json.set("cpus_per_tres", cpus_per_tres).set("mem_per_tres", mem_per_tres);
  json.set("excluded", excluded).set("oversubscribe", oversubscribe).set("array_task_id", array_task_id);
  return json;
}

RunningJob RunningJob::from_json(const Json& json) {
  const auto number = [&json](const char* key) { return static_cast<std::uint32_t>(json[key].as_int()); };
  const auto text = [&json](const char* key) { return json[key].as_string(); };
  RunningJob job;
  job.job_id = number("job_id");
  job.uid = number("uid");
  job.gid = number("gid");
  job.submit = from_micros(json["submit"].as_int());
  job.start = from_micros(json["start"].as_int());
  job.name = text("name");
  job.state = text("state");
  job.flags = json["flags"].as_strings();
  job.nodes = json["nodes"].as_strings();
  job.cpus_per_node = cpu_groups_from_json(json["cpus_per_node"]);
  job.batch = json["batch"].as_bool();
  job.batch_host = text("batch_host");
  job.time_limit_min = json["time_limit_min"].as_int();
  job.partition = text("partition");
  job.account = text("account");
  job.qos = text("qos");
  job.reservation = text("reservation");
  job.features = text("features");
  job.tres_per_node = text("tres_per_node");
  job.tres_per_socket = text("tres_per_socket");
  job.tres_per_task = text("tres_per_task");
  job.tres_per_job = text("tres_per_job");
  job.cpus_per_tres = text("cpus_per_tres");
  job.mem_per_tres = text("mem_per_tres");
  job.gres = text("gres");
  job.memory_mib = static_cast<std::uint64_t>(json["memory_mib"].as_int());
  job.memory_per_cpu = json["memory_per_cpu"].as_bool();
  job.excluded = json["excluded"].as_strings();
  job.oversubscribe = text("oversubscribe");
  job.tasks_per_node = number("tasks_per_node");
  job.cpus_per_task = number("cpus_per_task");
  job.threads_per_core = number("threads_per_core");
  job.core_spec = number("core_spec");
  job.het_job_id = number("het_job_id");
  job.het_offset = number("het_offset");
  job.array_job_id = number("array_job_id");
  job.array_task_id = text("array_task_id");
  return job;
}

Status can_change(const RunningJob& job) {
  if (job.state != "RUNNING")
    return no(job, "does not run", "its state is " + job.state,
              job.state == "NODE_FAIL"
                  ? "submit it with --no-kill: without, Slurm ends a job that loses a node"
                  : "only a running job can be given another node");
  if (std::ranges::find(job.flags, "COMPLETING") != job.flags.end())
    return no(job, "is ending", "its state is COMPLETING", "only a running job can be given another node");
  return {};
}

Result<std::vector<std::string>> nodes_left(const RunningJob& job, const std::vector<std::string>& drop) {
  if (auto can = can_change(job); !can) return fail(std::move(can.error()));
  std::vector<std::string> left;
  for (const std::string& node : job.nodes)
    if (std::ranges::find(drop, node) == drop.end()) left.push_back(node);
  if (left.empty())
    return no(job, "would have no node left", "it has only " + compress_hostlist(job.nodes),
              "cancel the job, or have a node replaced first");
  if (job.batch && !job.batch_host.empty() && std::ranges::find(drop, job.batch_host) != drop.end())
    return no(job, "cannot lose " + job.batch_host, "its batch script runs there",
              "let the job end, or drop other nodes");
  return left;
}

std::string_view to_string(NodeFault fault) {
  switch (fault) {
    case NodeFault::failing:
      return "FAILING";
    case NodeFault::failed:
      return "FAILED";
    case NodeFault::none:
      break;
  }
  return "";
}

NodeFault fault_of(const NodeState& state) {
  if (state.base == NodeBase::down) return NodeFault::failed;
  return state.has(NodeFlag::fail) ? NodeFault::failing : NodeFault::none;
}

}  // namespace sickbay
