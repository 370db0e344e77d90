// SPDX-License-Identifier: Apache-2.0
// What SimCluster keeps of a node and of a job; for its own files only.
#pragma once
#include <fmt/format.h>

#include <queue>

#include "adapters/sim/sim_cluster.h"

namespace sickbay::sim {

inline constexpr int kTopPriority = 1'000'000;           ///< before all; users' jobs have 0
inline constexpr JobId kFirstBackgroundId = 40'000'000;  ///< far from ids that a crash gives again

/// Slurm's stamps are whole seconds.
inline TimePoint stamp(TimePoint now) { return from_unix_seconds(to_unix_seconds(now)); }

inline Error away() {
  return Error(ErrorCode::slurm_away, "Unable to contact slurm controller (connect failure)");
}

struct SimCluster::Node {
  std::string name;
  std::vector<std::size_t> partitions;
  // What slurmctld says.
  bool reserved = false;  ///< in some reservation, now or at another time
  bool down = false, not_responding = false, drain = false, fail = false, reboot_issued = false;
  std::string reason;
  std::uint32_t reason_uid = 0;
  TimePoint drained_at = kNoTime;  ///< by a command, not by an operator or by Slurm itself
  std::string features;            ///< "gpu,ib"
  TimePoint boot = kNoTime;
  JobId job = 0;  ///< that has it
  // What is so.
  bool silent = false;         ///< slurmd is not heard
  bool lost_programs = false;  ///< it was powered off: what ran here is gone even if it comes back
  JobId runs_still = 0;        ///< a job of which slurmctld has forgotten that it runs here
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
  bool began = true;      ///< false: no output
  bool requeues = false;  ///< not an end: it goes back to the queue
  std::string refusal{};  ///< slurmd's, that starts nothing: why its node is drained
  bool is_there = false;  ///< it refuses since the job runs there already
  int crashes_nodes = 0;  ///< not an end: that many nodes go, and the rest waits
};

struct SimCluster::Job {
  JobInfo info;
  std::string key, script, dependency;
  SimBehaviour behaviour;
  bool verification = false, may_requeue = false;
  double hold_s = 0;     ///< V keeps its nodes for so long at least
  bool no_kill = false;  ///< goes on without a node that is lost
  JobId expands = 0;     ///< a donor: the job that its nodes are for
  bool possible = true;  ///< enough nodes are left by its exclusions
  int run_number = 1;
  std::size_t array_throttle = 0;        ///< of a job array; 0: none
  std::string out_pattern, err_pattern;  ///< of a job array: each task has its own files
  std::size_t partition = 0;
  SimDependencies dependencies;
  std::string constraint, reservation;
  int priority = 0;
  std::vector<NodeIndex> exclude, only;  ///< sorted; `only` empty: any
  TimePoint eligible = kNoTime;          ///< not to start before
  // When slurmctld last changed these: what is younger than its last save is forgotten by a crash.
  TimePoint submitted = kNoTime, released = kNoTime, started = kNoTime;
  std::vector<NodeIndex> on;                           ///< nodes in use, completing included
  int derived_exit_code = 0, derived_exit_signal = 0;  ///< the worst of its steps
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
  bool completing() const { return !info.flags.empty() && info.flags.front() == "COMPLETING"; }
  bool is_array() const { return info.array_job_id != 0; }
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

/// A call: its effect and answer come later, unless it meets a fault.
template <class T>
void SimCluster::answer(const char* call, Done<T> done, std::function<Result<T>()> effect) {
  CallCount& count = calls_[call];
  count.call = call;
  ++count.count;
  auto& planned = call_faults_[call];
  std::optional<SimCallFault> fault;
  if (!planned.empty()) {
    fault = planned.front();
    planned.pop_front();
  } else if (lost_requests_ > 0 && chance(lost_requests_)) {
    fault = SimCallFault::lost_request;
  } else if (lost_answers_ > 0 && chance(lost_answers_)) {
    fault = SimCallFault::lost_answer;
  }
  const auto give = [this, call, caller = callers_, done = std::move(done)](Result<T> result) {
    if (!result) ++calls_[call].errors;
    if (caller == callers_) done(std::move(result));
  };
  const auto took = [&](Micros time) {
    count.seconds += std::chrono::duration<double>(time).count();
    return loop_.now() + time;
  };
  if (away_) {
    loop_.at(took(options_.away_time), [give] { give(fail(away())); });
    return;
  }
  if (!fault) {
    loop_.at(took(options_.answer_time),
             [this, give, effect = std::move(effect)] { give(away_ ? Result<T>(fail(away())) : effect()); });
    return;
  }
  if (*fault == SimCallFault::lost_answer)
    loop_.at(loop_.now() + options_.answer_time, [this, effect = std::move(effect)] {
      if (!away_) (void)effect();
    });
  loop_.at(took(options_.call_limit), [give, call] {
    give(fail(ErrorCode::timed_out, fmt::format("slurmctld gave no answer to {} in time", call)));
  });
}

}  // namespace sickbay::sim
