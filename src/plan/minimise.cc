// SPDX-License-Identifier: Apache-2.0
#include "plan/minimise.h"

#include <algorithm>
#include <cmath>

namespace sickbay::plan {

Minimum minimise(const std::function<double(const std::vector<double>&)>& f, std::vector<double> begin,
                 double step, int most) {
  const std::size_t n = begin.size();
  int calls = 0;
  const auto at = [&](std::vector<double> place) {
    ++calls;
    const double value = f(place);
    return Minimum{std::move(place), std::isfinite(value) ? value : 1e300};
  };
  // The steps are Nelder and Mead's: mirror the worst corner; go twice as far where that is the best;
  // half-way where it is no better than the second worst; else shrink all towards the best.
  std::vector<Minimum> simplex = {at(begin)};
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> corner = begin;
    corner[i] += step;
    simplex.push_back(at(std::move(corner)));
  }
  const auto by_value = [](const Minimum& a, const Minimum& b) { return a.value < b.value; };
  while (calls < most) {
    std::stable_sort(simplex.begin(), simplex.end(), by_value);
    double size = 0;
    for (std::size_t i = 0; i < n; ++i) size = std::max(size, std::abs(simplex[n].at[i] - simplex[0].at[i]));
    if (size < 1e-7) break;
    std::vector<double> middle(n, 0.0);
    for (std::size_t c = 0; c < n; ++c)
      for (std::size_t i = 0; i < n; ++i) middle[i] += simplex[c].at[i] / static_cast<double>(n);
    // The worst corner, moved along the line through the middle of the others.
    const auto moved = [&](double factor) {
      std::vector<double> place(n);
      for (std::size_t i = 0; i < n; ++i) place[i] = middle[i] + factor * (simplex[n].at[i] - middle[i]);
      return at(std::move(place));
    };
    Minimum mirrored = moved(-1);
    if (mirrored.value < simplex[0].value) {
      Minimum further = moved(-2);
      simplex[n] = further.value < mirrored.value ? std::move(further) : std::move(mirrored);
    } else if (mirrored.value < simplex[n - 1].value) {
      simplex[n] = std::move(mirrored);
    } else {
      Minimum nearer = moved(mirrored.value < simplex[n].value ? -0.5 : 0.5);
      if (nearer.value < std::min(mirrored.value, simplex[n].value)) {
        simplex[n] = std::move(nearer);
      } else {
        for (std::size_t c = 1; c <= n; ++c) {
          std::vector<double> place(n);
          for (std::size_t i = 0; i < n; ++i) place[i] = (simplex[c].at[i] + simplex[0].at[i]) / 2;
          simplex[c] = at(std::move(place));
        }
      }
    }
  }
  return *std::min_element(simplex.begin(), simplex.end(), by_value);
}

}  // namespace sickbay::plan
