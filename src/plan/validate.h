// SPDX-License-Identifier: Apache-2.0
// Does the model hold?  It is fitted to the first part of a list and predicts the rest, which is then looked
// at: how often was what came within the interval of 90 %?
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "plan/answers.h"

namespace sickbay::plan {

/// One prediction and what came.
struct Check {
  std::string what;  ///< a name of kPredicted
  double low = 0, median = 0, high = 0;
  double seen = 0;
  bool held() const { return low <= seen && seen <= high; }
};
inline constexpr const char* kPredicted[] = {"failures", "node-hours lost", "most nodes down"};

/// The predictions for one system from one place of its list on.
struct Cut {
  std::string system;
  std::size_t nodes = 0, fitted_failures = 0;
  double share = 0;  ///< of the list's time that was fitted to
  double fitted_h = 0, predicted_h = 0;
  std::vector<Check> checks;     ///< as kPredicted
  std::vector<std::string> why;  ///< where one did not hold: what had changed
};

struct Validation {
  std::vector<Cut> cuts;
  std::vector<std::string> left_out;  ///< systems and why
  /// How many checks of that name there are and how many held; all of them for "".
  std::pair<std::size_t, std::size_t> held(std::string_view what) const;
  /// How many times its lower end the upper end of the interval is, in the middle case: how much it says.
  double width(std::string_view what) const;
};
inline constexpr double kCuts[] = {0.5, 0.6, 0.7, 0.8};

/// `nodes`: how many a system has, 0 for those that its list names.
Validation validate(const FailureList& list, const std::function<std::size_t(const System&)>& nodes,
                    std::size_t replications, std::uint64_t seed);

}  // namespace sickbay::plan
