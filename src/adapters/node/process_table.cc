// SPDX-License-Identifier: Apache-2.0
// Two files of a process at most are read by the pass itself: stat, and cmdline of a slurmstepd.
#include "adapters/node/process_table.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.h"
#include "base/words.h"

namespace sickbay::node {

std::optional<ProcessStat> process_stat(const Tree& tree, std::string_view pid) {
  const auto text = tree.read(fmt::format("/proc/{}/stat", pid), 4096);
  return text ? parse_process_stat(*text) : std::nullopt;
}

std::int64_t ProcessTable::page_size() const {
  return tree_.is_this_machine() ? ::sysconf(_SC_PAGESIZE) : 4096;  // recorded trees are of x86
}

Status ProcessTable::scan() {
  processes_.clear();
  stepds_.clear();
  // kthreadd's children are all kernel threads, in one read where the kernel gives it.
  std::set<std::int64_t> kernel_threads;
  // Not in a container, where 2 is a process like others.
  if (tree_.word("/proc/2/comm") == "kthreadd") {
    kernel_threads.insert(2);
    if (const auto children = tree_.read("/proc/2/task/2/children"))
      for (std::string_view rest = *children; !rest.empty();)
        if (const auto pid = to_integer(trimmed(next_word(rest)))) kernel_threads.insert(*pid);
  }
  bool any = false;
  for (const std::string& name : tree_.list("/proc")) {
    const auto pid = to_integer(name);
    if (!pid) continue;
    any = true;
    if (kernel_threads.contains(*pid)) continue;
    if (!tree_.read_into("/proc/" + name + "/stat", text_, 4096)) continue;
    auto stat = parse_process_stat(text_);
    // Whatever the file says, the folder's name is the process.
    if (!stat || stat->pid != *pid || (stat->parent == 2 && kernel_threads.contains(2))) continue;
    if (stat->name == "slurmstepd" && tree_.read_into("/proc/" + name + "/cmdline", text_, 4096))
      if (const auto job = job_of_title(text_)) stepds_.emplace(*pid, *job);
    processes_.push_back({std::move(*stat), {}, {}, false, false});
  }
  if (!any) return fail(ErrorCode::not_found, "/proc lists no process");
  // By number, for the look-up of parents in job(); the folder lists names as texts ("10" before "9").
  std::sort(processes_.begin(), processes_.end(),
            [](const Process& a, const Process& b) { return a.stat.pid < b.stat.pid; });
  return {};
}

Result<std::vector<ProcessTable::Process>*> ProcessTable::all() {
  const auto now = std::chrono::steady_clock::now();
  // A round's operations come within a second: one pass serves them all.
  if (!valid_ || now - scanned_ > std::chrono::seconds(1)) {
    valid_ = false;
    if (auto ok = scan(); !ok) return fail(std::move(ok.error()));
    valid_ = true;
    scanned_ = now;
  }
  return &processes_;
}

std::optional<std::int64_t> ProcessTable::uid(Process& process) {
  if (!process.uid_read) {
    process.uid_read = true;
    if (tree_.read_into(fmt::format("/proc/{}/status", process.stat.pid), text_, 16384))
      process.uid = parse_uid(text_);
  }
  return process.uid;
}

std::optional<std::int64_t> ProcessTable::job(Process& process) {
  if (process.job_read) return process.job;
  process.job_read = true;
  if (stepds_.empty()) return std::nullopt;  // a node without a slurmstepd has no job
  // Up to the slurmstepd above it: needs no file.  Bounded, since pids are reused while we look.
  std::int64_t pid = process.stat.pid;
  for (int i = 0; i < 1000 && pid > 1; ++i) {
    if (const auto stepd = stepds_.find(pid); stepd != stepds_.end()) return process.job = stepd->second;
    const auto parent =
        std::lower_bound(processes_.begin(), processes_.end(), pid,
                         [](const Process& p, std::int64_t wanted) { return p.stat.pid < wanted; });
    if (parent == processes_.end() || parent->stat.pid != pid) break;
    pid = parent->stat.parent;
  }
  // One that has left its parents is still in its control group.
  if (tree_.read_into(fmt::format("/proc/{}/cgroup", process.stat.pid), text_, 65536))
    process.job = job_of_cgroup(text_);
  return process.job;
}

Result<std::set<std::int64_t>> ProcessTable::users_with_jobs() {
  const auto list = all();
  if (!list) return fail(list.error());
  std::set<std::int64_t> users, seen;
  for (Process& p : **list) {
    const auto id = job(p);
    if (!id || stepds_.contains(p.stat.pid)) continue;
    const auto owner = uid(p);
    // Root's in a job are Slurm's own, or have not changed their user yet: they do not say whose job it is.
    if (!owner || *owner == 0) continue;
    users.insert(*owner);
    seen.insert(*id);
  }
  // Only when every job's user is known may anybody's processes be called leftovers.
  for (const auto& [pid, id] : stepds_)
    if (!seen.contains(id))
      return fail(
          ErrorCode::busy,
          fmt::format("job {} has no process of its user yet: nobody can say whose processes may go", id));
  return users;
}

std::string ProcessTable::user(std::int64_t uid) {
  if (const auto passwd = tree_.read("/etc/passwd"))
    if (auto name = user_name(*passwd, uid)) return *name;
  return std::to_string(uid);
}

}  // namespace sickbay::node
