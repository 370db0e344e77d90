// SPDX-License-Identifier: Apache-2.0
// Waiting: how long the processes of a job on this node waited for a processor, from look to look.
//
// The kernel counts of each thread how long it could have run and did not (run_delay of schedstat; a quota of
// a control group counts there, too).  A part of that a job makes itself: eight threads on two processors
// wait for each other, and no node is at fault.  While a thread waits for its own job, threads of that job
// have all processors that it may use, N of them; at each such moment one of them at least is not among the
// N-1 that ran most.  So what the job's other threads ran beyond the N-1 that ran most bounds that part, and
// only what is over it counts.  What children ran that ended between two looks is unknown by thread, and is
// taken from each thread's wait.
//
// A stopped process asks for no processor.  Its state is sampled between looks, and the share of samples in
// which it was stopped counts where it ran, too: one that stays stopped may have done that itself.
// Pure.  Source: doc/design/identify.md, "Starved processes".
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/process_times.h"

namespace sickbay::hang {

class Waiting {
 public:
  /// Takes in a look; the first one only begins.  A later one that is older than the last changes nothing.
  void take(const JobCounts& look);
  /// States of processes (as in /proc/PID/stat) between two looks.
  void sample(const std::vector<std::pair<std::int64_t, char>>& states);
  /// Processes whose states are worth a sample: those that ran or were stopped, `most` at most, each time
  /// others where there are more.
  std::vector<std::int64_t> to_sample(std::size_t most);
  /// The process that lost most, of those that were looked at for `least`, ended ones too; nothing where
  /// there is none.  One that lost kLeastPermille of its time goes before one that lost more in a longer.
  std::optional<ProcessTimes> worst(Micros least) const;
  /// A process that was there is gone, or none was ever there: somebody should search for new ones.
  bool incomplete() const { return incomplete_; }

 private:
  struct Process {
    std::int64_t started = 0;
    ProcessTimes times;
    std::map<std::int64_t, ThreadCounts> threads;  ///< as last seen
    Micros children{0};
    std::string group;
    std::int64_t throttled_from = -1;  ///< of `group`, when it was first read
    std::size_t samples = 0, stops = 0;
    bool busy = false, here = true;
  };
  void begin(Process& process, const ProcessCounts& seen) const;
  void keep(const ProcessTimes& times);

  std::map<std::int64_t, Process> processes_;  ///< by pid
  std::optional<ProcessTimes> ended_;          ///< the worst of those that are gone
  TimePoint at_ = kNoTime;
  std::size_t turn_ = 0;
  bool incomplete_ = true;
};

}  // namespace sickbay::hang
