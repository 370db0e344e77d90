// SPDX-License-Identifier: Apache-2.0
// What a submission asks Slurm for: the options of sbatch that matter to a simulated cluster.
//
// Lines "#SBATCH ..." of the script come first, options of the command line win over them, as in sbatch.
// Options without a meaning here (licences, GRES, mail, ...) are read over.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/job.h"

namespace sickbay::sim {

struct SimRequest {
  std::string name, partition, comment, output, error;
  std::string dependency, constraint, reservation;
  std::uint32_t nodes = 0;                   ///< 0: not said
  std::uint32_t tasks = 0;                   ///< 0: not said
  std::optional<std::int64_t> time_limit_s;  ///< whole minutes, as Slurm rounds; 0 = unlimited
  std::vector<std::string> exclude, nodelist;
  TaskIds array;                   ///< empty: no job array
  std::size_t array_throttle = 0;  ///< tasks that may run at once; 0: all
  bool requeue = true;             ///< JobRequeue=1, Slurm's default
  bool hold = false;
  bool no_kill = false;
  /// The options which a re-run cannot have (a run elsewhere, at once, that nobody waits for).
  std::vector<std::string> not_for_reruns;
};

/// Reads script lines and command line.  Errors: refused_by_slurm in sbatch's words for what it would not
/// read.
Result<SimRequest> read_request(const Submission& submission);

/// The part of a comment after "sickbay:", up to the next blank; empty where there is none.
std::string key_in_comment(std::string_view comment);

}  // namespace sickbay::sim
