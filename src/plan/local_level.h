// SPDX-License-Identifier: Apache-2.0
// LocalLevel: does a quantity that was measured period by period stay, scatter or drift, and where is it now?
//
// Real failure rates change: systems are young, are mended, grow old.  A rate that is taken for constant
// gives intervals that are far too narrow, and an average over years tells of years that are over.  So the
// logarithms of what was counted in equal periods are taken for a level that walks at random (`drift` a
// period), seen with the error of counting and some scatter; a level that stays is the case drift = 0.
// Which of them it is, Akaike's criterion decides.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "plan/random.h"

namespace sickbay::plan {

/// A law with more parameters is believed where Akaike's criterion is better by more than this.
inline constexpr double kLeastGain = 2;

/// One period: the measured logarithm and the variance that it has by counting alone.
struct Measured {
  double value = 0, variance = 0;
  bool known = true;  ///< else nothing was measured
};

struct LocalLevel {
  double level = 0;     ///< at the end of the last period, on the scale of the measured logarithms
  double variance = 0;  ///< of that estimate
  double drift = 0;     ///< standard deviation of a step, per period
  double scatter = 0;   ///< of a period around the level, beyond counting
  double period_h = 0;  ///< hours of a period
  double aic = 0, aic_constant = 0;
  bool constant() const { return drift == 0 && scatter == 0; }
};

/// The best of: constant, with scatter, with drift, with both.  Of fewer than four known periods: constant.
LocalLevel fit_level(std::span<const Measured> periods, double period_h);

/// One future of it: factors exp(level) of `count` periods from the end of the list on.
std::vector<double> future_of(const LocalLevel& level, std::size_t count, Random& random);

}  // namespace sickbay::plan
