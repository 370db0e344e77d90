// SPDX-License-Identifier: Apache-2.0
// Median by selection; the hypergeometric tail by its logarithms, since the factorials of segment counts do
// not fit anything.
#include "base/robust.h"

#include <algorithm>
#include <cmath>

namespace sickbay {
namespace {

/// ln of n over k.
double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

}  // namespace

std::optional<double> median_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::optional<Spread> spread_of(std::span<const double> values) {
  const auto median = median_of({values.begin(), values.end()});
  if (!median) return std::nullopt;
  std::vector<double> away;
  away.reserve(values.size());
  for (const double value : values) away.push_back(std::abs(value - *median));
  constexpr double kNormal = 1.4826;  // 1 / the upper quartile of the standard normal distribution
  return Spread{*median, kNormal * *median_of(std::move(away))};
}

double at_least_by_chance(std::uint64_t hits, std::uint64_t trials, std::uint64_t others_hits,
                          std::uint64_t others_trials) {
  if (hits == 0) return 1;
  // More hits than trials is a counting error of who asks: it must not make the logarithms wild.
  trials = std::max(trials, hits);
  others_trials = std::max(others_trials, others_hits);
  // Of all hits, wherever they fell, how many fall here?
  const auto here = static_cast<double>(trials), there = static_cast<double>(others_trials);
  const auto all = static_cast<double>(hits + others_hits);
  const double ways = log_choose(here + there, all);
  double sum = 0;
  for (double k = static_cast<double>(hits); k <= std::min(all, here); ++k)
    // (The others cannot have more hits than trials.)
    if (all - k <= there) sum += std::exp(log_choose(here, k) + log_choose(there, all - k) - ways);
  return std::min(sum, 1.0);
}

double ln_beta(double a, double b) { return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b); }

}  // namespace sickbay
