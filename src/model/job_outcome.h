// SPDX-License-Identifier: Apache-2.0
// What one run of any job of the cluster came to, as far as it can be told from Slurm's own word: on which
// nodes, how long it lived, and whether it failed.  No experiment and no output: this is known of every job.
//
// "Early" is the one measure of time: a job that fails within kEarly of its start may have been killed by
// where it started; one that lived longer had a node on which its kind can live.  Who may take these in:
// engine/blackhole, and whoever asks what other jobs did on the same nodes at the time.
// Source: the design page of black holes, doc/design/blackhole.md.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/job.h"

namespace sickbay {

/// A job that lived for so long was not killed by its start.
inline constexpr std::chrono::seconds kEarly{180};
/// Nodes of one job that are kept; of a wider one nothing is said of any node.
inline constexpr std::size_t kMostOutcomeNodes = 64;

struct JobOutcome {
  static constexpr int kFields = 12;  ///< base/state_archive.h
  JobId job = 0;
  TimePoint start = kNoTime;  ///< with the id it names the run: a requeued job has another
  std::uint32_t uid = 0;
  std::string program;             ///< program_kind() of its name
  std::vector<std::string> nodes;  ///< sorted; empty: more than kMostOutcomeNodes
  std::chrono::seconds lived{0};   ///< from its start to its end, or till it was seen running
  bool ended = true;               ///< false: it runs
  bool failed = false;             ///< ended as a failure (RunEnd::failed), and not by its time limit
  bool neutral = false;            ///< ended early by a bound of its own (memory, time): no word about a node
  // Of one that failed or is neutral, in Slurm's words and numbers.
  std::string state;
  int exit_code = 0, exit_signal = 0;

  bool failed_early() const { return failed && lived <= kEarly; }
  bool passed_early() const { return !neutral && !failed_early() && (ended || lived >= kEarly); }

  /// {job, start, uid, program, nodes, lived, ended, failed, neutral, state, exit, signal}; from `nodes` on,
  /// what has its default is left out.
  Json to_json() const;
  static JobOutcome from_json(const Json& json);
  friend bool operator==(const JobOutcome&, const JobOutcome&) = default;
};

/// The kind of program that a job name stands for: each run of digits is one '#' ("sweep_0017" and
/// "sweep_0018" are alike), at most 64 bytes.
std::string program_kind(std::string_view job_name);

/// What was told of jobs already, so that of a hundred thousand that run only those are told that have come
/// to something: to their end, or to an age at which they are known to have passed.
class ToldLives {
 public:
  /// Whether it is news that the run (job, start) has `lived` so long, or has `ended`.
  bool is_news(JobId job, TimePoint start, bool ended, std::chrono::seconds lived);
  /// Forgets the jobs that were not asked about since the last call: Slurm has them no more.
  void end_look();

 private:
  struct Told {
    TimePoint start = kNoTime;
    std::size_t age = 0;  ///< how many of the ages it was told to have come to
    bool ended = false, seen = false;
  };
  std::map<JobId, Told> jobs_;
};

/// What `job` has come to at `now`.  Nothing: it never had a node, or its end says nothing to anybody
/// (cancelled, preempted or put back into the queue before it had lived for kEarly).
std::optional<JobOutcome> outcome_of(const JobInfo& job, TimePoint now);

}  // namespace sickbay
