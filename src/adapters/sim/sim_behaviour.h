// SPDX-License-Identifier: Apache-2.0
// SimBehaviour: what a program does in the simulated cluster, as one line of its batch script says it.
//
//   #SIM run=30s exit=1                 30 s of work on healthy nodes, then exit code 1
//   #SIM run=2m crash-on=n3:SIGBUS      the rank on n3 dies; well on all other nodes
//   #SIM run=30s exit=1 fail-runs=1,3   fails in its first and third run only
//   #SIM run=30s exit=1 fail-tasks=3,7  of a job array only these tasks fail
//   #SIM run=30s exit=1 flaky=0.3       fails in 3 of 10 runs
//   #SIM run=1s killed=SIGSEGV          the script itself is killed, not a rank
//   #SIM hang                           never ends, makes no progress
//   #SIM run=30s slow-with=n3:2.0       takes twice as long when n3 takes part
//   #SIM run=30s takes-down=1           crashes that many of its nodes half-way
//   #SIM run=30s step-exit=139          a step of its ends so, the script goes on and ends with exit
//   #SIM run=30s requeue-self=2         at the end of its first two runs it calls scontrol requeue on itself,
//   and
//                                       ends with 1 where Slurm refuses
//   #SIM run=30s signal=SIGBUS fails-otherwise=2:1:mkdir:_out:_File_exists
//                                       in its second run exit code 1 and these words instead
//   #SIM run=30s exit=1 never-begins=1  its first run never begins: its output cannot be opened
//   #SIM run=30s writes                 writes to /tmp, and fails where that is full
// For a shell the line is a comment, so the same script runs on a real cluster.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/task_ids.h"

namespace sickbay::sim {

/// How one run of a program fails that otherwise fails in another way.
struct SimOtherEnd {
  int run = 0;
  int exit_code = 0;
  std::string says{};
  friend bool operator==(const SimOtherEnd&, const SimOtherEnd&) = default;
};

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
  TaskIds fail_tasks{};          ///< likewise, tasks of a job array; empty: all
  std::string slow_node{};       ///< a run with it takes slow_factor times as long
  double slow_factor = 1.0;
  int takes_down = 0;    ///< so many of its nodes crash half-way
  int step_exit = 0;     ///< of a step whose end the script does not look at
  int requeue_self = 0;  ///< so many runs end with a requeue
  std::string says{};    ///< last line of its output; '_' stands for a blank
  std::vector<SimOtherEnd> other_ends{};
  std::vector<int> never_begins{};  ///< the runs whose output cannot be opened
  bool writes = false;              ///< to /tmp

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
