// SPDX-License-Identifier: Apache-2.0
// Nelder and Mead's simplex: the least value of a smooth function of a few variables, without derivatives.
#pragma once
#include <functional>
#include <vector>

namespace sickbay::plan {

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

/// From `begin`, with first steps of `step`.  Ends when the simplex is smaller than 1e-7 or after `most`
/// calls; values that are not finite count as very large.
Minimum minimise(const std::function<double(const std::vector<double>&)>& f, std::vector<double> begin,
                 double step = 0.5, int most = 600);

}  // namespace sickbay::plan
