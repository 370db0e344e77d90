// SPDX-License-Identifier: Apache-2.0
// What a site charges for: weights of cores, memory, GPUs and nodes, as Slurm's TRESBillingWeights has them.
//
// The charge of a job is its weighted resources times its run time, in service units (SU): one is a core-hour
// where no weights are given.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace sickbay::workload {

/// The weights of a partition, for an hour of each.
struct ChargeRate {
  std::string partition;  ///< "*": of all that have no weights of their own
  double core = 0, gib = 0, node = 0, gpu = 0;
  std::vector<std::pair<std::string, double>> gpu_kinds;  ///< "a100" -> weight, over `gpu`
};

struct Charges {
  std::vector<ChargeRate> rates;  ///< none: a core-hour is 1
  bool most = false;              ///< the dearest resource counts alone (Slurm's MAX_TRES), not their sum
};

/// "CPU=1.0,Mem=0.25G,GRES/gpu=2.0,GRES/gpu:a100=4": Slurm's words, in any case; Mem is per MB where no unit
/// is said.  Errors: bad_input.
Result<ChargeRate> parse_charge_rate(std::string_view partition, std::string_view weights);

/// The charge of a whole job as SQL over `jobs`; `core_s`: its core-seconds, as SQL.  NULL where neither they
/// nor the run time are known.
std::string charge_sql(const Charges& charges, std::string_view core_s);

}  // namespace sickbay::workload
