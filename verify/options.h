// SPDX-License-Identifier: Apache-2.0
// The command line of sickbay-verify.  One table (options.cc) holds each option's name, argument, text and
// effect, so that the parser and --help cannot disagree.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace sickbay::verify {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// What is to be done and how much of it.  The defaults are the long preset; --quick is the short one.
struct Options {
  std::string mode;  ///< "node", "reach", "net", "watch" or "baseline"
  std::vector<std::string> phases = {"cpu", "memory", "membw", "disk", "storage"};
  char cpu_class = 'W';
  double slow_ratio = 1.05;           ///< cpu: slow when work takes this much longer than the processor needs
  std::uint64_t memory = 512 * kMiB;  ///< bytes under test
  std::uint64_t membw = 96 * kMiB;    ///< bytes of the three vectors together
  std::uint64_t disk = 64 * kMiB;     ///< bytes written and read back
  std::string disk_folder = "/tmp";
  std::string folder;              ///< of the job; empty: none is looked for
  double storage_wait = 20;        ///< seconds for the shared file systems to answer
  std::uint64_t net_block = kMiB;  ///< bytes of one message of the bandwidth test
  int net_blocks = 32;
  int pings = 2000;
  double pair_budget = 2.5;          ///< seconds of measuring per pair
  double hello_wait = 15;            ///< seconds until a silent peer counts as not reachable
  double ready_wait = 90;            ///< for a partner that its own bad pairs hold up
  double answer_wait = 15;           ///< within a running test of a pair
  int random_rounds = 3;             ///< over 16 nodes: rounds of random pairs beside the ring
  double loss_ratio = 0.002;         ///< net: slow when this share of a pair's TCP segments is sent again
  double busy_share = 0.2;           ///< speeds measured while others had more of the processor say nothing
  double turn_wait = 120;            ///< seconds to wait for the other ranks on the same kernel
  double beat = 0;                   ///< seconds between two words that it goes on; 0: none
  int ranks = 1;                     ///< watch: of the step
  double silence = 30;               ///< watch: seconds until one that says nothing is given up
  double first = 150;                ///< watch: seconds until a step of which nobody is heard is given up
  std::vector<std::string> nodes;    ///< watch: of the step, one for each rank; empty: not told
  double stuck = 120;                ///< watch: seconds until one is given up that lives and does not go on
  double grace = 45;                 ///< watch: seconds until an srun that does not end is killed
  std::vector<std::string> command;  ///< watch: the srun
  std::string baseline;              ///< file; empty: none
};

/// Reads the arguments after the program's name.  Errors: usage, with the offending argument.
Result<Options> parse_options(const std::vector<std::string>& args);
/// The text of --help.
std::string usage_text();

}  // namespace sickbay::verify
