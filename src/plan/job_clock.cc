// SPDX-License-Identifier: Apache-2.0
#include "plan/job_clock.h"

#include <algorithm>
#include <cmath>

namespace sickbay::plan {
namespace {

void count(std::vector<std::uint32_t>& counts, std::uint32_t place) {
  if (counts.size() <= place) counts.resize(place + 1, 0);
  ++counts[place];
}

}  // namespace

// There is no checkpoint behind the last stretch of work.
double JobClock::time_to_end() const {
  const double rest = job_->hours - saved_;
  // (A whole number of intervals must not become one more by rounding.)
  const double stretches = std::max(std::ceil(rest / job_->interval_h - 1e-9), 1.0);
  return std::max(rest + (stretches - 1) * job_->cost_h - in_cycle_, 0.0);
}

void JobClock::go_on(double now, Outcome& out) {
  const auto take = [&](double most) {
    const double took = std::min(most, now - now_);
    now_ += took;
    return took;
  };
  out.job_time_h += now - now_;
  if (waits_for_ > 0) out.waiting_h += take(now - now_);
  while (now_ < now) {
    if (queue_left_ > 0) {
      const double took = take(queue_left_);
      queue_left_ -= took;
      out.waiting_h += took;
    } else if (restart_left_ > 0) {
      const double took = take(restart_left_);
      restart_left_ -= took;
      out.restart_h += took;
    } else {
      const double left = time_to_end();
      const bool ends = left <= now - now_;
      const double took = ends ? left : now - now_, interval = job_->interval_h;
      // A cycle is an interval of work and then a checkpoint: what lies beyond the interval is no work.
      const double before = std::min(in_cycle_, interval);
      double worked = job_->hours - saved_ - before;
      if (!ends) {
        const double at = in_cycle_ + took, cycle = interval + job_->cost_h;
        const double full = std::floor(at / cycle);
        saved_ += full * interval;
        in_cycle_ = at - full * cycle;
        worked = full * interval + std::min(in_cycle_, interval) - before;
      }
      // As if it were saved; a failure takes back what was not (fail).
      out.useful_h += worked;
      out.checkpoint_h += took - worked;
      now_ = ends ? now_ + took : now;
      if (!ends) continue;
      ++out.jobs;
      count(out.jobs_by_down, most_down_);
      out.times_h.push_back(static_cast<float>(now_ - began_));
      began_ = now_;
      saved_ = in_cycle_ = 0;
      most_down_ = 0;
    }
  }
  now_ = now;
}

void JobClock::fail(std::uint32_t down, Outcome& out) {
  const double unsaved = std::min(in_cycle_, job_->interval_h);
  out.useful_h -= unsaved;
  out.lost_h += unsaved;
  in_cycle_ = 0;
  // Set and not added: a failure in a restart begins the restart anew.
  restart_left_ = job_->restart_h;
  queue_left_ = job_->replaced ? 0 : job_->requeue_h;
  most_down_ = std::max(most_down_, down);
}

}  // namespace sickbay::plan
