// SPDX-License-Identifier: Apache-2.0
#include "plan/local_level.h"

#include <algorithm>
#include <cmath>

namespace sickbay::plan {
namespace {

constexpr double kTwoPi = 6.283185307179586;
// No rate is believed to become this many times larger or smaller than it was.
const double kMostChange = std::log(20);

struct Filtered {
  double level = 0, variance = 0, log_likelihood = 0;
};

// Kalman's filter of a random walk, begun with the first value.
Filtered filter(std::span<const Measured> periods, double drift, double scatter) {
  Filtered now;
  bool begun = false;
  for (const Measured& one : periods) {
    // Time goes on, and with it the walk, also through a period without a measurement.
    if (begun) now.variance += drift * drift;
    if (!one.known) continue;
    const double noise = one.variance + scatter * scatter;
    // Begun with what is seen: nothing is known of the level before, so the first value has no likelihood.
    if (!begun) {
      now = {one.value, noise, 0};
      begun = true;
      continue;
    }
    const double off = one.value - now.level, total = now.variance + noise;
    now.log_likelihood -= 0.5 * (std::log(kTwoPi * total) + off * off / total);
    now.level += now.variance / total * off;
    now.variance *= noise / total;
  }
  return now;
}

}  // namespace

LocalLevel fit_level(std::span<const Measured> periods, double period_h) {
  LocalLevel best;
  best.period_h = period_h;
  const Filtered constant = filter(periods, 0, 0);
  best.level = constant.level;
  best.variance = constant.variance;
  best.aic = best.aic_constant = 2 - 2 * constant.log_likelihood;
  LocalLevel other = best;
  // A law with more parameters must gain that much before it is taken at all.
  other.aic = best.aic - kLeastGain;
  const auto known = std::count_if(periods.begin(), periods.end(), [](const Measured& m) { return m.known; });
  if (known < 4) return best;
  // From 2 % to a factor of e a period: what lies between two steps is not told apart by lists of any length.
  std::vector<double> grid = {0};
  for (double sd = 0.02; sd <= 1.01; sd *= 1.22) grid.push_back(sd);
  for (const double drift : grid)
    for (const double scatter : grid) {
      const Filtered got = filter(periods, drift, scatter);
      const double aic = 2 * (1 + (drift > 0) + (scatter > 0)) - 2 * got.log_likelihood;
      if (aic >= other.aic) continue;
      other.level = got.level;
      other.variance = got.variance;
      other.drift = drift;
      other.scatter = scatter;
      other.aic = aic;
    }
  return other.constant() ? best : other;
}

std::vector<double> future_of(const LocalLevel& level, std::size_t count, Random& random) {
  std::vector<double> factors;
  factors.reserve(count);
  // Where the level is at the list's end is not known for sure: each future begins somewhere else.
  double walk = std::sqrt(level.variance) * random.normal();
  for (std::size_t i = 0; i < count; ++i) {
    walk += level.drift * random.normal();
    walk = std::clamp(walk, -kMostChange, kMostChange);
    factors.push_back(std::exp(level.level + walk + level.scatter * random.normal()));
  }
  return factors;
}

}  // namespace sickbay::plan
