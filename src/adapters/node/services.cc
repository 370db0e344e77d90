// SPDX-License-Identifier: Apache-2.0
// service, restart_service, cancel_job.
//
// Whether a service runs is read from files: systemd's control groups, pid files, the process table.  Asking
// systemctl would cost a process each time, and hang when systemd does.
#include <fmt/format.h>

#include "adapters/node/families.h"
#include "adapters/node/process_table.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

// A unit's name and not a path or an option.
bool is_service(std::string_view name) {
  constexpr std::string_view kMore = "@._:-\\";
  return !name.empty() && name.size() < 200 && name.front() != '-' && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'z') ||
                  kMore.find(c) != std::string_view::npos;
         });
}
OperationEnd no_service(const std::string& name) {
  return unknown(fmt::format("{} is no name of a service", quote_for_message(name)));
}

OperationEnd up(std::int64_t pid) {
  return found(Json::object({{"service_up", true}, {"service_pid", pid}}));
}

// A process that lives and has this name; its pid may have been reused by another program.
bool lives(const Tree& tree, std::int64_t pid, std::string_view program) {
  // The kernel keeps 15 characters of a program's name.
  const auto stat = process_stat(tree, std::to_string(pid));
  return stat && stat->state != 'Z' && stat->state != 'X' && stat->name == program.substr(0, 15);
}

}  // namespace

OperationEnd service(const Call& call) {
  const std::string name = call.text("name");
  if (!is_service(name)) return no_service(name);
  const Tree& tree = *call.tree;
  // Its control group, in the unified and in the old hierarchy.  systemd removes it when the service ends.
  for (const std::string_view base : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"}) {
    const std::string group = fmt::format("{}/system.slice/{}.service", base, name);
    const auto list = tree.read(group + "/cgroup.procs");
    if (!list) continue;
    std::string_view rest = *list;
    if (const auto line = next_line(rest))
      if (const auto pid = to_integer(*line); pid && *pid > 0) return up(*pid);
    // Its processes may be in groups below.
    if (tree.read(group + "/cgroup.events").value_or("").find("populated 1") != std::string::npos)
      return found(Json::object({{"service_up", true}, {"service_pid", nullptr}}));
  }
  const std::string program =
      call.text("program").empty() ? name.substr(0, name.find('@')) : call.text("program");
  std::vector<std::string> files = {call.text("pid_file")};
  if (files[0].empty()) files = {fmt::format("/run/{}.pid", name), fmt::format("/run/{}/{}.pid", name, name)};
  for (const std::string& file : files)
    if (const auto pid = tree.number(file); pid && *pid > 0 && lives(tree, *pid, program)) return up(*pid);
  // Last, as it costs a pass over /proc and a name may be anybody's.
  const auto list = call.processes->all();
  if (!list) return unknown(list.error().what);
  for (const ProcessTable::Process& p : **list)
    if (p.stat.name == std::string_view(program).substr(0, 15) && p.stat.state != 'Z' && p.stat.state != 'X')
      return up(p.stat.pid);
  return found(Json::object({{"service_up", false}, {"service_pid", nullptr}}));
}

ChildPlan restart_service(const Call& call) {
  const std::string name = call.text("name");
  if (!is_service(name)) return {{}, {}, no_service(name)};
  const std::string script = "/etc/init.d/" + name;
  std::vector<std::string> argv;
  // The folder is there where systemd is process 1 (sd_booted(3)).
  if (call.tree->exists("/run/systemd/system"))
    argv = {"systemctl", "restart", name + ".service"};
  else if (call.tree->exists(script))
    argv = {call.tree->path(script), "restart"};
  else
    return {{}, {}, unknown(fmt::format("neither systemd runs here nor is there {}", script))};
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, argv));
  plan.read = [argv, name](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer(argv[0], outcomes[0])) return *missing;
    const bool done = outcomes[0]->exit_code == 0;
    Json out = Json::object({{"service_restarted", done}});
    if (done) return found(std::move(out), fmt::format("restarted {}", name));
    return failed(std::move(out),
                  fmt::format("{} ended with exit code {}: {}", argv[0], outcomes[0]->exit_code,
                              quote_for_message(trimmed(outcomes[0]->err), 200)));
  };
  return plan;
}

ChildPlan cancel_job(const Call& call) {
  if (!call.flag("enabled")) return {{}, {}, unknown("it is off: the argument `enabled` is not true")};
  const std::int64_t job = call.integer("process_job");
  if (job <= 0) return {{}, {}, unknown(fmt::format("{} is no job", job))};
  ChildPlan plan;
  plan.programs.push_back(program_spec(call, {"scancel", std::to_string(job)}));
  plan.read = [job](const std::vector<Result<ProcessOutcome>>& outcomes) {
    if (auto missing = no_answer("scancel", outcomes[0])) return *missing;
    const bool done = outcomes[0]->exit_code == 0;
    Json out = Json::object({{"job_cancelled", done}});
    if (done) return found(std::move(out), fmt::format("cancelled job {}", job));
    return failed(std::move(out), fmt::format("scancel ended with exit code {}: {}", outcomes[0]->exit_code,
                                              quote_for_message(trimmed(outcomes[0]->err), 200)));
  };
  return plan;
}

}  // namespace sickbay::node
