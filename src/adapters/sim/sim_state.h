// SPDX-License-Identifier: Apache-2.0
// What SimCluster keeps of a node and of a job; for its own files only.
#pragma once
#include <queue>

#include "adapters/sim/sim_cluster.h"

namespace sickbay::sim {

inline constexpr JobId kFirstBackgroundId = 40'000'000;  ///< far from ids that a crash gives again

struct SimCluster::Node {
  std::string name;
  std::vector<std::size_t> partitions;
  // What slurmctld says.
  bool down = false, not_responding = false, drain = false, reboot_issued = false;
  std::string reason;
  std::uint32_t reason_uid = 0;
  TimePoint boot = kNoTime;
  JobId job = 0;  ///< that has it
  // What is so.
  bool silent = false;         ///< slurmd is not heard
  bool lost_programs = false;  ///< it was powered off: what ran here is gone even if it comes back
  SimNodeFaults faults;
  Loop::TimerId silence_timer = 0;
  // What the last snapshot said.
  bool changed = true, told = false;
  NodeInfo last_told;
};

/// How a run ends, decided when it starts; a fault on the way replaces it.
struct SimCluster::Ending {
  std::string state = "COMPLETED";
  int exit_code = 0, exit_signal = 0;
  std::string reason = "None";
  int crashes_nodes = 0;  ///< not an end: that many nodes go, and the rest waits
};

struct SimCluster::Job {
  JobInfo info;
  std::string key, script;
  SimBehaviour behaviour;
  bool verification = false, may_requeue = false;
  bool possible = true;  ///< enough nodes are left by its exclusions
  int run_number = 1;
  std::size_t partition = 0;
  std::vector<NodeIndex> exclude, only;  ///< sorted; `only` empty: any
  TimePoint eligible = kNoTime;          ///< not to start before
  // When slurmctld last changed these: what is younger than its last save is forgotten by a crash.
  TimePoint submitted = kNoTime, released = kNoTime, started = kNoTime;
  std::vector<NodeIndex> on;  ///< nodes in use, completing included
  // The run under way.
  Ending ending;
  double work_left_s = 0;  ///< at pace 1
  double pace = 1;         ///< 0: waits for ever
  TimePoint paced_at = kNoTime;
  Loop::TimerId work_timer = 0, limit_timer = 0;
  std::string out, err;

  bool pending() const { return info.state == "PENDING"; }
  bool running() const { return info.state == "RUNNING"; }
  bool ended() const { return !pending() && !running(); }
};

struct SimCluster::Background {
  struct Run {
    TimePoint at;  ///< of its end, or of the next start where `free`
    NodeIndex first;
    std::uint32_t count;
    JobId job;  ///< 0: the nodes wait for the next one
    bool operator>(const Run& other) const { return std::pair(at, first) > std::pair(other.at, other.first); }
  };
  SimBackground load;
  std::priority_queue<Run, std::vector<Run>, std::greater<>> runs;
  JobId next_id = kFirstBackgroundId;
};

}  // namespace sickbay::sim
