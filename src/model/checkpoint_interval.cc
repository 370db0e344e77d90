// SPDX-License-Identifier: Apache-2.0
#include "model/checkpoint_interval.h"

#include <cmath>

namespace sickbay {

double young_interval(double cost, double mtbf) { return std::sqrt(2 * cost * mtbf); }

double daly_interval(double cost, double mtbf) {
  if (cost >= 2 * mtbf) return mtbf;
  const double x = cost / (2 * mtbf);
  return young_interval(cost, mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - cost;
}

}  // namespace sickbay
