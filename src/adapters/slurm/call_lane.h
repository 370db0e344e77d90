// SPDX-License-Identifier: Apache-2.0
// How much is asked of Slurm at once: queues with bounds, and a bound on updates per second.
//
// Two lanes share the four calls that may be under way (doc/design/decisions.md 26): sickbay-slurm does one
// at a time, sbatch and sacct up to three.  An update (anything that makes slurmctld change and save its
// state) also needs a token from the UpdateRate.  Work that finds its queue full is refused, never dropped.
#pragma once
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

#include "ports/loop.h"

namespace sickbay::slurm {

/// At most `most` updates in any second, for all lanes together.
class UpdateRate {
 public:
  explicit UpdateRate(std::size_t most) : most_(most) {}
  /// When the next update may start; `now` or earlier: at once.
  TimePoint next(TimePoint now);
  void took(TimePoint now) { starts_.push_back(now); }

 private:
  std::size_t most_;
  std::deque<TimePoint> starts_;
};

/// A queue that starts its work in order, `width` at a time; updates step aside while the rate forbids them.
class CallLane {
 public:
  struct Work {
    bool update = false;
    std::function<void()> start;        ///< must lead to one finished()
    std::function<void(Error)> refuse;  ///< instead of start: it waited too long
  };
  CallLane(Loop& loop, UpdateRate& rate, std::size_t width, std::size_t bound)
      : loop_(loop), rate_(rate), width_(width), bound_(bound) {}
  ~CallLane();
  CallLane(const CallLane&) = delete;
  CallLane& operator=(const CallLane&) = delete;

  /// Queues `work`; it starts at once where it may.  False: the queue is full.
  bool submit(Work work);
  /// One piece of started work is done.
  void finished();
  std::size_t waiting() const { return queue_.size(); }
  std::size_t under_way() const { return under_way_; }

 private:
  /// Nobody is helped by an answer to a question this old.
  static constexpr std::chrono::seconds kLongestWait{60};
  struct Waiting {
    Work work;
    TimePoint since;
  };
  void pump();

  Loop& loop_;
  UpdateRate& rate_;
  std::size_t width_, bound_, under_way_ = 0;
  std::deque<Waiting> queue_;
  bool pumping_ = false;
  Loop::TimerId timer_ = 0;
  bool timer_set_ = false;
};

}  // namespace sickbay::slurm
