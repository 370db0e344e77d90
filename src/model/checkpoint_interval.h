// SPDX-License-Identifier: Apache-2.0
// How long to work between two checkpoints, by formulas.  The one home of them: plan simulates what they come
// to, ckpt works by them.  Any unit of time, the same for all of a call.
#pragma once

namespace sickbay {

/// Young 1974: sqrt(2 C M).
double young_interval(double cost, double mtbf);
/// Daly 2006, his higher-order estimate of the work between two; M where a checkpoint costs 2 M or more.
/// REQUIRES: cost >= 0, mtbf > 0.
double daly_interval(double cost, double mtbf);

}  // namespace sickbay
