// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of a job's processes: time on a processor, time in wait for one, state.
//
// A look reads two small files for each process and one for each thread (/proc/PID/stat, task/TID/schedstat);
// which processes are the job's is searched for now and then only, for that is a pass over all of /proc.  No
// process is stopped, and nothing of its memory is read: neither its command line nor its environment.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "adapters/node/process_table.h"
#include "model/process_times.h"

namespace sickbay::node {

class TimesReader {
 public:
  /// `tree` must outlive it.
  explicit TimesReader(const Tree& tree) : tree_(tree), table_(tree) {}

  /// The processes of `job` that belong to `uid`: those that the last search found, or with `search` all.
  /// Errors: no /proc; os, where this kernel does not count waiting.
  Result<JobCounts> count(std::int64_t job, std::int64_t uid, bool search);
  /// These processes, as they stand in the table, whatever they belong to.
  Result<JobCounts> count(const std::vector<std::int64_t>& pids, bool search);
  /// Their states, without those that are gone.
  std::vector<std::pair<std::int64_t, char>> states(const std::vector<std::int64_t>& pids) const;
  /// Forgets what the searches for a job have found.
  void forget(std::int64_t job) { known_.erase(job); }

  static constexpr std::size_t kMostProcesses = 512, kMostThreads = 2048;  ///< of a job on this node

 private:
  struct Known {
    std::int64_t pid = 0, started = 0;
    std::map<std::int64_t, CpuSet> cpus;  ///< of its threads
    std::int64_t throttled = -1;
    std::string group;
  };
  Result<JobCounts> look(std::vector<Known>& known, bool search) const;
  Status add(Known& known, bool search, JobCounts& counts, std::size_t& threads) const;

  const Tree& tree_;
  ProcessTable table_;
  std::map<std::int64_t, std::vector<Known>> known_;  ///< by job; 0: those that were named
};

}  // namespace sickbay::node
