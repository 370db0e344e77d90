// SPDX-License-Identifier: Apache-2.0
// memory_hogs, memory_process, zombies, processes, jobs, process_gone, job_gone: from the process table.
#include <fmt/format.h>
#include <unistd.h>

#include "adapters/node/families.h"
#include "adapters/node/process_table.h"
#include "adapters/node/user_list.h"
#include "base/text.h"
#include "base/words.h"
#include "model/value.h"

namespace sickbay::node {
namespace {

using Process = ProcessTable::Process;

std::int64_t resident(const ProcessTable& table, const Process& p) {
  return std::min(p.stat.pages, std::int64_t{1} << 38) * table.page_size();
}

Process* largest(const ProcessTable& table, std::vector<Process>& list) {
  Process* most = nullptr;
  for (Process& p : list)
    if (most == nullptr || resident(table, p) > resident(table, *most)) most = &p;
  return most;
}

// Bytes that the process moved to and from disks.
std::optional<std::pair<std::int64_t, std::int64_t>> disk_bytes(const Tree& tree, std::int64_t pid) {
  const auto text = tree.read(fmt::format("/proc/{}/io", pid), 4096);
  if (!text) return std::nullopt;
  const auto read = field_of(*text, "read_bytes"), written = field_of(*text, "write_bytes");
  if (!read || !written) return std::nullopt;
  return std::pair(*read, *written);
}

}  // namespace

UserList::UserList(std::string_view names) {
  while (!names.empty()) {
    const std::string_view name = trimmed(next_part(names, ','));
    if (!name.empty()) names_.emplace(name);
  }
}

OperationEnd memory_hogs(const Call& call) {
  ProcessTable& table = *call.processes;
  const auto list = table.all();
  if (!list) return unknown(list.error().what);
  const auto text = call.tree->read("/proc/meminfo");
  const auto total = text ? field_of(*text, "MemTotal") : std::nullopt;
  if (!total) return unknown("/proc/meminfo has no MemTotal");
  const auto share =
      static_cast<std::int64_t>(static_cast<double>(*total) * call.arguments["percent"].as_double() / 100);
  const std::int64_t size = call.integer("size");
  std::int64_t hogs = 0;
  for (const Process& p : **list) {
    const std::int64_t bytes = resident(table, p);
    hogs += bytes > share || (size > 0 && bytes > size);
  }
  const Process* most = largest(table, **list);
  if (most == nullptr) return unknown("/proc lists no process");
  return found(Json::object({{"memory_hogs", hogs},
                             {"memory_hog_size", resident(table, *most)},
                             {"memory_hog_name", most->stat.name.substr(0, 64)}}));
}

OperationEnd memory_process(const Call& call) {
  ProcessTable& table = *call.processes;
  const auto list = table.all();
  if (!list) return unknown(list.error().what);
  Process* most = largest(table, **list);
  if (most == nullptr) return unknown("/proc lists no process");
  const auto uid = table.uid(*most);
  if (!uid) return unknown(fmt::format("process {} ended while it was looked at", most->stat.pid));
  // Its start goes with its number, so that a repair later ends this process and no other (kill.cc).
  return found(Json::object({{"process_pid", most->stat.pid},
                             {"process_started", most->stat.started},
                             {"process_name", most->stat.name.substr(0, 64)},
                             {"process_user", table.user(*uid).substr(0, 64)},
                             {"process_job", or_null(table.job(*most))},
                             {"process_memory", resident(table, *most)}}));
}

OperationEnd zombies(const Call& call) {
  const auto list = call.processes->all();
  if (!list) return unknown(list.error().what);
  std::int64_t count = 0;
  std::map<std::int64_t, std::int64_t> parents;
  for (const Process& p : **list)
    if (p.stat.state == 'Z') {
      ++count;
      ++parents[p.stat.parent];
    }
  Json parent, name;
  const auto most = std::max_element(parents.begin(), parents.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  // 0 is no process: the parent lives outside of our container.
  if (most != parents.end() && most->first > 0) {
    parent = most->first;
    for (const Process& p : **list)
      if (p.stat.pid == most->first) name = p.stat.name.substr(0, 64);
  }
  return found(Json::object({{"zombies", count}, {"zombie_parent", parent}, {"zombie_parent_name", name}}));
}

OperationEnd processes(const Call& call) {
  ProcessTable& table = *call.processes;
  const auto list = table.all();
  if (!list) return unknown(list.error().what);
  const auto busy = table.users_with_jobs();
  const UserList except(call.text("except"));
  const std::int64_t first = call.integer("first_uid");
  std::int64_t foreign = 0;
  std::set<std::int64_t> users;
  for (Process& p : **list) {
    const auto uid = table.uid(p);
    if (!uid || *uid < first || table.job(p)) continue;
    if (busy && busy->contains(*uid)) continue;
    if (except.has(table, *uid)) continue;
    ++foreign;
    users.insert(*uid);
  }
  // A job whose user is not seen yet may own what looks foreign.
  if (!busy && foreign > 0) return unknown(busy.error().what);
  std::string names;
  for (const std::int64_t uid : users) {
    const std::string name = table.user(uid);
    if (names.size() + name.size() > 240) break;
    names += (names.empty() ? "" : ",") + name;
  }
  return found(Json::object(
      {{"processes", (*list)->size()}, {"foreign_processes", foreign}, {"foreign_users", names}}));
}

OperationEnd jobs(const Call& call) {
  ProcessTable& table = *call.processes;
  const auto list = table.all();
  if (!list) return unknown(list.error().what);
  struct Use {
    // From the least upwards: nice 19 and state Z yield to the first process.
    std::int64_t memory = 0, ticks = 0, nice = 19, read = 0, written = 0;
    std::optional<std::int64_t> uid;
    char state = 'Z';
    bool io = true;
    std::vector<Process*> processes;
  };
  std::map<std::int64_t, Use> all;
  for (Process& p : **list) {
    const auto id = table.job(p);
    if (!id) continue;
    Use& use = all[*id];
    if (p.stat.name == "slurmstepd") continue;  // Slurm's own
    use.processes.push_back(&p);
    use.memory += resident(table, p);
    use.ticks += p.stat.ticks;
    use.nice = std::min(use.nice, p.stat.nice);
    // The most awake of all.
    constexpr std::string_view kAwake = "ZXtTIPSDR";
    const auto rank = [&](char c) { return kAwake.find(c) == std::string_view::npos ? 0 : kAwake.find(c); };
    if (rank(p.stat.state) > rank(use.state)) use.state = p.stat.state;
  }
  Json out = Json::object({{"jobs", all.size()}});
  const auto most = std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.memory < b.second.memory; });
  if (most == all.end() || most->second.processes.empty()) {
    for (const std::string_view name : {"job_largest", "job_user", "job_state", "job_nice", "job_cpu_time",
                                        "job_memory", "job_read", "job_written"})
      out.set(std::string(name), nullptr);
    return found(std::move(out));
  }
  Use& use = most->second;
  for (Process* p : use.processes) {
    // A process of root may be Slurm's own: anybody else's names the job's user.
    if (!use.uid || *use.uid == 0) use.uid = table.uid(*p);
    const auto io = disk_bytes(*call.tree, p->stat.pid);
    // One that is missing makes the sum unknown: half of it would look like a job that idles.
    use.io = use.io && io.has_value();
    if (io) {
      use.read = std::min(use.read + io->first, kMostInteger);
      use.written = std::min(use.written + io->second, kMostInteger);
    }
  }
  const double hertz = call.tree->is_this_machine() ? static_cast<double>(::sysconf(_SC_CLK_TCK)) : 100;
  out.set("job_largest", most->first);
  out.set("job_user", use.uid ? Json(table.user(*use.uid).substr(0, 64)) : Json());
  out.set("job_state", std::string(1, use.state));
  out.set("job_nice", use.nice);
  out.set("job_cpu_time", static_cast<double>(use.ticks) / hertz);
  out.set("job_memory", std::min(use.memory, kMostInteger));
  out.set("job_read", use.io ? Json(use.read) : Json());
  out.set("job_written", use.io ? Json(use.written) : Json());
  return found(std::move(out));
}

OperationEnd process_gone(const Call& call) {
  const auto text = call.tree->read(fmt::format("/proc/{}/stat", call.integer("process_pid")), 4096);
  if (!text && text.error().code != ErrorCode::not_found) return unknown(text.error().what);
  bool gone = !text;
  if (text) {
    const auto stat = parse_process_stat(*text);
    if (!stat) return unknown(fmt::format("/proc/{}/stat cannot be understood", call.integer("process_pid")));
    // The number alone is not enough: it may be another's by now.
    gone = stat->started != call.integer("process_started") || stat->state == 'Z' || stat->state == 'X';
  } else if (!call.tree->exists("/proc")) {
    return unknown("there is no /proc");
  }
  return found(Json::object({{"process_gone", gone}}));
}

OperationEnd job_gone(const Call& call) {
  const auto list = call.processes->all();
  if (!list) return unknown(list.error().what);
  const bool there = std::any_of((*list)->begin(), (*list)->end(), [&](Process& p) {
    return call.processes->job(p) == call.integer("process_job");
  });
  return found(Json::object({{"job_gone", !there}}));
}

}  // namespace sickbay::node
