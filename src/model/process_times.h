// SPDX-License-Identifier: Apache-2.0
// What the kernel counts of the processes of a job on one node, and how long they waited for a processor, as
// an agent tells sickbayd.
//
// A process that may not run is slow whatever its program does, and one that sleeps or blocks asks for no
// processor: it does not wait.  Told is the process that lost most, since a job of many ranks is as slow as
// the slowest.  Source: doc/design/identify.md, "Starved processes".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/time.h"

namespace sickbay {

/// Processors, one bit each.
using CpuSet = std::vector<std::uint64_t>;
/// Reads a list as "0-3,8"; what is no number of a processor is left out.
CpuSet parse_cpu_list(std::string_view list);
std::size_t count_cpus(const CpuSet& set);
bool share_cpus(const CpuSet& a, const CpuSet& b);

/// A thread's time on a processor and in wait for one, since it began.
struct ThreadCounts {
  std::int64_t tid = 0;
  std::chrono::nanoseconds ran{0}, waited{0};
  CpuSet cpus;  ///< where it may run
};
struct ProcessCounts {
  std::int64_t pid = 0, started = 0;  ///< `started` in ticks after boot: pids are given again
  std::string name;
  char state = '?';             ///< as in /proc/PID/stat
  Micros children{0};           ///< processor time of children that have ended
  std::int64_t throttled = -1;  ///< of its control group, since that was made, in microseconds; -1 not read
  std::string group;            ///< that group
  std::vector<ThreadCounts> threads;
};
/// One look at the processes of a job.
struct JobCounts {
  TimePoint at = kNoTime;  ///< since the node's start
  std::vector<ProcessCounts> processes;
  Micros cost{0};  ///< processor time of the look
};

/// Thousandths of `part` in `whole`, 0 to 1000.
std::int64_t permille(Micros part, Micros whole);

struct ProcessTimes {
  std::int64_t pid = 0;
  std::string name;     ///< of its program, as the kernel has it
  Micros seen{0};       ///< so long it was looked at
  Micros ran{0};        ///< of that: one of its threads at least had a processor (older agents do not tell)
  Micros waited{0};     ///< of that: it could have run, and others than its own job had the processor
  Micros stopped{0};    ///< of that: it was stopped, between times in which it ran
  Micros throttled{0};  ///< by the quota of its control group, as far as that can be read
  /// What it lost of its time, in thousandths; 0 where it was not looked at.
  std::int64_t lost_permille() const;
  Micros lost() const { return waited + stopped; }
  /// How much of its time it asked for a processor, in thousandths.
  std::int64_t wanted_permille() const { return permille(ran + lost(), seen); }
  friend bool operator==(const ProcessTimes&, const ProcessTimes&) = default;
};

Json to_json(const ProcessTimes& times);
/// Errors: bad_input, where a time is missing.
Result<ProcessTimes> read_process_times(const Json& json);

}  // namespace sickbay
