// SPDX-License-Identifier: Apache-2.0
// Allowance: how much of something one stranger may have, saved up to a bound and given back with time.
//
// Who has any left may take more than that once and owes the rest: nothing has to be cut into pieces, and yet
// no more goes than is given.  The clock is the caller's; one that steps back gives nothing.
#pragma once
#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace sickbay {

class Allowance {
 public:
  /// `most` can be saved up, and is there at the beginning; so much comes with each hour.
  Allowance(double most, double per_hour) : most_(most), per_hour_(per_hour), left_(most) {}

  /// What is left at `now`; not over 0: nothing, for the time being.
  double left(TimePoint now) const {
    if (at_ == kNoTime || now <= at_) return left_;
    const double hours = std::chrono::duration<double, std::ratio<3600>>(now - at_).count();
    return std::min(most_, left_ + hours * per_hour_);
  }
  /// When there is something again; not after `now` where there is.
  TimePoint ready(TimePoint now) const {
    const double owed = -left(now);
    if (owed < 0) return now;
    const std::chrono::duration<double, std::ratio<3600>> wait(owed / per_hour_);
    return now + std::chrono::duration_cast<Micros>(wait) + std::chrono::seconds(1);
  }
  void spend(double amount, TimePoint now) {
    left_ = left(now) - amount;
    at_ = std::max(at_, now);
  }
  /// True where it is as at the beginning, and so need not be kept.
  bool is_whole(TimePoint now) const { return left(now) >= most_; }

 private:
  double most_, per_hour_, left_;
  TimePoint at_ = kNoTime;
};

}  // namespace sickbay
