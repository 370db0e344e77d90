// SPDX-License-Identifier: Apache-2.0
// Unasked: what can be said of a failed job without a case, from evidence alone.
//
// A job of plain sbatch, srun or salloc is run again by nobody, so there is no experiment: what speaks is how
// it ended, what is known of its nodes, what others' jobs did there at the time, and what its own kind did
// elsewhere.  Four columns and a table, as for cases (verdict.h), with two rules above it: no answer is ever
// of high confidence, and a node is the cause only where something else than this one job speaks against it.
// test/verdicts/unasked.txt has the answer to every combination.  Pure; the service fills in the facts
// (service/failures_api.cc).  Source: doc/design/identify.md, "Every job".
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/identify/case.h"
#include "model/job_outcome.h"

namespace sickbay::identify::unasked {

/// How it ended.  As bits, so that a row may accept several.
enum End : std::uint8_t {
  e_lost = 1,     ///< NODE_FAIL, BOOT_FAIL
  e_never = 2,    ///< 0:53: its output could not be opened
  e_crashed = 4,  ///< a signal that a program's own fault brings: SIGSEGV, SIGABRT, SIGFPE, SIGILL
  e_exited = 8,   ///< with an exit code
  e_killed =
      16,  ///< by another signal: SIGKILL, SIGTERM, and SIGBUS, which a broken disk or memory brings, too
  e_any = 31
};
/// What is known of its nodes, besides jobs like it.
enum NodeSays : std::uint8_t {
  n_nothing = 1,
  n_finding = 2,  ///< an agent found a fault that was there in its time
  n_hole = 4,     ///< it died early on what has been found to be a black hole
  n_any = 7
};
/// What jobs of other users that started on its nodes at the time came to.
enum Others : std::uint8_t {
  o_unknown = 1,
  o_passed = 2,  ///< some passed
  o_failed = 4,  ///< of two users or more, and none passed
  o_any = 7
};
/// What its own kind (user and program) did on other nodes at the time.
enum Kin : std::uint8_t {
  k_unknown = 1,
  k_passes = 2,
  k_fails = 4,  ///< it failed there, and did not pass since
  k_any = 7
};

struct Facts {
  End end = e_exited;
  NodeSays node = n_nothing;
  Others others = o_unknown;
  Kin kin = k_unknown;
};

struct Row {
  std::string_view rule;
  std::uint8_t end = e_any, node = n_any, others = o_any, kin = k_any;
  Cause cause;
  Confidence confidence;
  std::string_view why;
};

/// All rows; the first that fits wins, and one always does.
std::span<const Row> rows();
const Row& row_for(const Facts& facts);

/// What was looked up about a failed job.
struct Evidence {
  JobOutcome job;
  std::vector<std::string> lost;                              ///< of its nodes, those that are DOWN
  std::vector<std::pair<std::string, std::string>> findings;  ///< node, words
  std::vector<std::pair<std::string, std::string>> holes;     ///< node, the sentence of black_hole
  std::size_t others_passed = 0, others_failed = 0, others_failed_users = 0;  ///< on its nodes
  std::size_t kin_passed = 0, kin_failed = 0;                                 ///< on other nodes
};
Facts facts_of(const Evidence& evidence);
End end_of(const JobOutcome& job);

/// The verdict: final, for there will be no experiment.  Ends that explain themselves (OUT_OF_MEMORY,
/// DEADLINE, TIMEOUT) need no table.  `missing` says what a case would have had.
Verdict judge(const Evidence& evidence, TimePoint now);

}  // namespace sickbay::identify::unasked
