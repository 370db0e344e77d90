// SPDX-License-Identifier: Apache-2.0
#include "adapters/node/wait_times.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "adapters/node/clock_time.h"
#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {
namespace {

std::int64_t ticks_per_second() {
  static const std::int64_t ticks = std::max<std::int64_t>(1, ::sysconf(_SC_CLK_TCK));
  return ticks;
}

}  // namespace

Status TimesReader::add(Known& known, bool search, JobCounts& counts, std::size_t& threads) const {
  const std::string folder = fmt::format("/proc/{}", known.pid);
  const auto text = tree_.read(folder + "/stat", 4096);
  const auto stat = text ? parse_process_stat(*text) : std::nullopt;
  // (Gone, or its number is another's now.)
  if (!stat || stat->started != known.started || stat->state == 'Z' || stat->state == 'X') return {};
  ProcessCounts process;
  process.pid = known.pid;
  process.started = stat->started;
  process.name = stat->name;
  process.state = stat->state;
  process.children = Micros(parse_children(*text) * (1'000'000 / ticks_per_second()));
  if (search) {
    const auto cgroup = tree_.read(folder + "/cgroup", 65536);
    known.group = cgroup ? cpu_stat_file(*cgroup) : "";
    const auto its = known.group.empty() ? tl::unexpected(Error(ErrorCode::not_found, ""))
                                         : tree_.read(known.group, 65536);
    known.throttled = its ? parse_throttled(*its) : -1;
    known.cpus.clear();
  }
  process.group = known.group;
  process.throttled = known.throttled;
  for (const std::string& name : tree_.list(folder + "/task")) {
    const auto tid = to_integer(name);
    if (!tid || threads == kMostThreads) continue;
    const std::string task = fmt::format("{}/task/{}", folder, name);
    const auto schedstat = tree_.read(task + "/schedstat", 256);
    if (!schedstat) {
      if (schedstat.error().code == ErrorCode::not_found && tree_.exists(task + "/stat"))
        return fail(Error(ErrorCode::os, "this kernel does not count how long processes wait")
                        .because("/proc/PID/schedstat is not there (CONFIG_SCHED_INFO)"));
      continue;
    }
    auto one = parse_schedstat(*schedstat);
    if (!one) continue;
    one->tid = *tid;
    auto cpus = known.cpus.find(*tid);
    if (cpus == known.cpus.end()) {
      CpuSet set;
      if (const auto status = tree_.read(task + "/status", 16384))
        for (std::string_view rest = *status; const auto line = next_line(rest);)
          if (line->starts_with("Cpus_allowed_list:"))
            set = parse_cpu_list(trimmed(line->substr(line->find(':') + 1)));
      cpus = known.cpus.emplace(*tid, std::move(set)).first;
    }
    one->cpus = cpus->second;
    ++threads;
    process.threads.push_back(std::move(*one));
  }
  counts.processes.push_back(std::move(process));
  return {};
}

Result<JobCounts> TimesReader::look(std::vector<Known>& known, bool search) const {
  JobCounts counts;
  counts.at = TimePoint(clock_time(CLOCK_BOOTTIME));
  std::size_t threads = 0;
  for (Known& one : known)
    if (Status read = add(one, search, counts, threads); !read) return fail(std::move(read.error()));
  return counts;
}

Result<JobCounts> TimesReader::count(std::int64_t job, std::int64_t uid, bool search) {
  std::vector<Known>& known = known_[job];
  const Micros began = clock_time(CLOCK_THREAD_CPUTIME_ID);
  if (search) {
    const auto list = table_.all();
    if (!list) return fail(list.error());
    known.clear();
    for (ProcessTable::Process& process : **list)
      if (known.size() < kMostProcesses && table_.job(process) == job && table_.uid(process) == uid)
        known.push_back({process.stat.pid, process.stat.started, {}, -1, {}});
  }
  auto counts = look(known, search);
  if (counts) counts->cost = clock_time(CLOCK_THREAD_CPUTIME_ID) - began;
  return counts;
}

Result<JobCounts> TimesReader::count(const std::vector<std::int64_t>& pids, bool search) {
  std::vector<Known>& known = known_[0];
  if (search) {
    known.clear();
    for (const std::int64_t pid : pids)
      if (const auto stat = process_stat(tree_, std::to_string(pid)))
        known.push_back({pid, stat->started, {}, -1, {}});
  }
  return look(known, search);
}

std::vector<std::pair<std::int64_t, char>> TimesReader::states(const std::vector<std::int64_t>& pids) const {
  std::vector<std::pair<std::int64_t, char>> states;
  for (const std::int64_t pid : pids)
    if (const auto stat = process_stat(tree_, std::to_string(pid))) states.emplace_back(pid, stat->state);
  return states;
}

}  // namespace sickbay::node
