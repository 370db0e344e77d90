// SPDX-License-Identifier: Apache-2.0
// What a phase found, and the JSON line that says so.
//
// One line per rank and phase, each written by a single write(2), so that lines of ranks that share a pipe
// never mix and a rank that dies has said all it knew.  Reader: src/model/verify_report.h.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "baseline.h"

namespace sickbay::verify {

/// The result of one phase (of one pair of nodes for "net").
struct Finding {
  std::string phase;
  bool ok = true;       ///< false: a wrong result, or the phase could not do its work on this node
  bool slow = false;    ///< right, but slower than stated
  bool busy = false;    ///< others had the processor meanwhile: its speeds are no word on the node
  bool lossy = false;   ///< net: slow by what was lost, which the other links may explain as noise
  bool crawls = false;  ///< disk: it stood still (disk_pace.h); the other nodes' disks say whether it is slow
  double value = 0;
  std::string unit{};
  std::optional<double> lowest{}, highest{};                 ///< the range `value` was expected in
  std::string peer{};                                        ///< net: the node at the other end
  std::string detail{};                                      ///< one sentence for people
  std::vector<std::pair<std::string, double>> also{};        ///< further numbers, by name
  std::vector<std::pair<std::string, std::string>> words{};  ///< further words, by name
  std::map<std::string, std::string> places{};  ///< storage: what each said, "" where it answered
};

/// Prints the line of a rank that goes on (beat.h).
void say_alive(const std::string& node, int rank, std::uint64_t ticks);

/// Writes the lines of one rank and remembers the worst of them.
class Reporter {
 public:
  Reporter(std::string node, int rank, Baseline baseline);

  /// Says that the rank lives: what is missing after this line died on the way.  `kind`: what machine it is
  /// (machine_kind.h), where that is of interest.
  void start(const std::string& mode, const std::string& kind = "");
  /// Judges `finding` by the baseline, then writes its line.  What is off the baseline while the node was
  /// busy is told and not called slow.
  void report(Finding finding);
  /// The last line; returns the program's exit code: 0 all well, 1 something wrong, 3 only slow.  `counted`:
  /// what the kernel counted meanwhile (kernel_counters.h); "": nothing.
  int done(const std::string& counted = "");

  const std::string& node() const { return node_; }
  int exit_code() const { return wrong_ ? 1 : slow_ ? 3 : 0; }

 private:
  std::string node_;
  std::string mode_;
  int rank_;
  Baseline baseline_;
  bool wrong_ = false;
  bool slow_ = false;
};

}  // namespace sickbay::verify
