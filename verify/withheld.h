// SPDX-License-Identifier: Apache-2.0
// How much processor time a node withheld from a thread that wanted to run.
//
// Wall time alone cannot tell a slow node from a busy one, and neither can the best slice against the mean:
// on a machine with hyper-threads a neighbour stretches single slices by 1.7 with no fault anywhere.  So lost
// time is split by witness: time in the run queue behind others (schedstat; the node is busy, not slow),
// time throttled by a quota (cgroup cpu.stat; the kernel counts it as run-queue time too), time that the host
// of a virtual machine took (/proc/stat; busy again), and time in which the thread neither ran nor waited (it
// was stopped, as cpulimit does). Measured on 6.18: quotas of 90, 70, 50 % withhold 9, 28, 48 % of a second;
// three busy rivals on two cores take 50 % of the wall time and withhold nothing.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

namespace sickbay::verify {

/// One reading of the witnesses, all in seconds since some fixed point.
struct CpuReading {
  double wall = 0;
  double ran = 0;                     ///< processor time of this thread
  std::optional<double> waited{};     ///< in the run queue; none: no schedstat
  std::optional<double> throttled{};  ///< by a quota of its own cgroup or of one above; none: not readable
  std::optional<double> idle{};       ///< of the processors it may use, summed
  std::optional<double> used{};       ///< of the same, by anybody
  int processors = 0;                 ///< how many they are
  std::optional<double> stolen{};  ///< of the same, by the machine under this one (a virtual machine's host)
};

/// Quotas and counters of the cgroups this process is in.
struct CgroupCpu {
  std::optional<double> throttled;    ///< seconds; the level that throttled most
  std::optional<double> quota_cores;  ///< the tightest quota, in cores; none: no quota
  std::string quota_path;             ///< the cgroup that sets it
};

/// Reads cgroup v1 and v2 from `root`/proc/self/cgroup, /proc/self/mountinfo and what they name.  Never
/// fails: what cannot be read is absent.
CgroupCpu read_cgroup_cpu(const std::string& root = "");

/// Reads all witnesses for the calling thread.
CpuReading read_cpu(const std::string& root = "");

/// What happened to a thread between two readings.
struct CpuLoss {
  double wall = 0;
  double ran = 0;
  double waited = 0;       ///< behind others: not the node's fault
  double stolen = 0;       ///< taken by the machine under this one: others again
  double throttled = 0;    ///< by a quota
  double stopped = 0;      ///< neither running nor waiting
  double foreign = 0;      ///< share of its processors that others used meanwhile
  bool by_cgroup = false;  ///< `throttled` comes from cpu.stat (else from processors idle while it waited)

  double withheld() const { return throttled + stopped; }
  /// How many times longer work takes here than on the same node without the fault; 1 is healthy.
  /// A little withheld counts for nothing: the clocks are read one after the other, and on a busy machine a
  /// thread may wait between two of them (10 ms of 0.11 s that it ran were "1.09 times slower": measured).
  double slowdown() const {
    const bool counts = withheld() >= std::max(kLeastWithheld, kLeastWithheld * wall);
    return ran > 0 && counts ? (ran + withheld()) / ran : 1;
  }
  static constexpr double kLeastWithheld = 0.05;  ///< seconds, and share of the wall time
  /// Of the time in which it ran or could have, the share that others of this machine had.  Figures of speed
  /// taken under a large one say nothing about the node.  (Without `stolen`, which counts while it sleeps,
  /// too.)
  double busy_share() const { return ran + waited > 0 ? waited / (ran + waited) : 0; }
};

/// The split of the time between two readings.  Pure.
CpuLoss cpu_loss(const CpuReading& before, const CpuReading& after);

}  // namespace sickbay::verify
