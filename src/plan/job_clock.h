// SPDX-License-Identifier: Apache-2.0
// The clock of one job with checkpoints: what a stretch of time without failures did, and what a failure
// took.
#pragma once
#include <cstdint>

#include "plan/simulate.h"

namespace sickbay::plan {

/// A place of the cluster that runs one job after the other.
class JobClock {
 public:
  explicit JobClock(const Job& job) : job_(&job) {}

  /// Goes on until `now`, over the ends of jobs, and counts into `out` what it did.
  void go_on(double now, Outcome& out);
  /// A node of it fails at the time that go_on() reached; `down` nodes are down then.
  void fail(std::uint32_t down, Outcome& out);
  /// It needs one node more before it goes on.
  void wait() { ++waits_for_; }
  /// One came.
  void got_node() { --waits_for_; }

 private:
  double time_to_end() const;

  const Job* job_;
  double now_ = 0;
  double began_ = 0;  // the present job
  double saved_ = 0;  // of its work
  double restart_left_ = 0, queue_left_ = 0;
  double in_cycle_ = 0;  // time since the last checkpoint's end
  std::uint32_t most_down_ = 0;
  std::uint32_t waits_for_ = 0;
};

}  // namespace sickbay::plan
