// SPDX-License-Identifier: Apache-2.0
// ProcessTable: one pass over /proc, shared by the operations that ask about processes.
//
// Kernel threads are left out: a node of 128 processors has 1500 of them, and none is what anybody asks for.
// Processes come and go while we look: one that vanishes is left out.  Users and jobs are looked up when
// asked.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/node/parse.h"
#include "adapters/node/tree.h"

namespace sickbay::node {

/// What the kernel says of process `pid` ("self": the caller); nothing where it has vanished.
std::optional<ProcessStat> process_stat(const Tree& tree, std::string_view pid);

class ProcessTable {
 public:
  explicit ProcessTable(const Tree& tree) : tree_(tree) {}

  struct Process {
    ProcessStat stat;
    std::optional<std::int64_t> uid, job;  // for ProcessTable
    bool uid_read = false, job_read = false;
  };
  /// All processes, by pid; looked at again when that is over a second old.  Errors: no /proc.
  Result<std::vector<Process>*> all();
  /// Real user; nothing where the process has vanished.
  std::optional<std::int64_t> uid(Process& process);
  /// Slurm job, by control group or by the slurmstepd above it; nothing where it belongs to none.
  std::optional<std::int64_t> job(Process& process);
  /// Users of processes in jobs.  Errors: busy, where a job is there whose user is not seen yet: whoever
  /// kills or removes must wait; also as all().
  Result<std::set<std::int64_t>> users_with_jobs();
  /// Its name, else the number.  From /etc/passwd alone: a name service can hang.
  std::string user(std::int64_t uid);
  std::int64_t page_size() const;
  const Tree& tree() const { return tree_; }

 private:
  Status scan();
  const Tree& tree_;
  std::vector<Process> processes_;
  std::map<std::int64_t, std::int64_t> stepds_;  // slurmstepd's pid -> job
  std::chrono::steady_clock::time_point scanned_{};
  bool valid_ = false;
  std::string text_;  // of the file that is read: kept for its memory
};

}  // namespace sickbay::node
