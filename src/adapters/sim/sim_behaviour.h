// SPDX-License-Identifier: Apache-2.0
// SimBehaviour: what a program does in the simulated cluster, as one line of its batch script says it.
//
//   #SIM run=30s exit=1                 30 s of work on healthy nodes, then exit code 1
//   #SIM run=2m crash-on=n3:SIGBUS      the rank on n3 dies; well on all other nodes
//   #SIM run=30s exit=1 fail-runs=1,3   fails in its first and third run only
//   #SIM run=30s exit=1 flaky=0.3       fails in 3 of 10 runs
//   #SIM run=1s killed=SIGSEGV          the script itself is killed, not a rank
//   #SIM hang                           never ends, makes no progress
//   #SIM run=30s slow-with=n3:2.0       takes twice as long when n3 takes part
//   #SIM run=30s takes-down=1           crashes that many of its nodes half-way
// For a shell the line is a comment, so the same script runs on a real cluster.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::sim {

struct SimBehaviour {
  std::chrono::microseconds run{10'000'000};  ///< on healthy nodes
  int exit_code = 0;
  int signal = 0;  ///< kills one rank: srun, and the script with it, ends with 128 + signal
  int killed = 0;  ///< kills the batch script itself
  bool hang = false;
  std::string crash_node{};  ///< the rank there is killed by crash_signal
  int crash_signal = 0;
  double flaky = 1.0;            ///< share of runs that end with exit_code or signal; the others end well
  std::vector<int> fail_runs{};  ///< the runs (SICKBAY_RUN) that end with exit_code or signal; empty: all
  std::string slow_node{};       ///< a run with it takes slow_factor times as long
  double slow_factor = 1.0;
  int takes_down = 0;  ///< so many of its nodes crash half-way
  std::string says{};  ///< last line of its output; '_' stands for a blank

  friend bool operator==(const SimBehaviour&, const SimBehaviour&) = default;
};

/// The behaviour that the first line of `script` starting with "#SIM" asks for; without such a line the
/// default (10 s, then success).  Errors: bad_input with the line, for unknown words and bad values.
Result<SimBehaviour> behaviour_of_script(std::string_view script);

/// "SIGBUS" -> 7; 0 for a name that is none.
int signal_number(std::string_view name);
/// 7 -> "Bus error": the words of strsignal(3) in the C locale, which srun prints.
std::string signal_words(int signal);

}  // namespace sickbay::sim
