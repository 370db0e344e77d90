// SPDX-License-Identifier: Apache-2.0
// SMD_NONSTOP_FAILED and SMD_NONSTOP_FAILING: what a user wants done about faulty nodes, read and printed.
//
// A list of words with colons between them, worked from left to right until no node is left to be cared for:
//     REPLACE:TIME_LIMIT_DELAY=4:TIME_LIMIT_EXTEND=2:DROP:TIME_LIMIT_DROP=10:EXIT_JOB
// The three with a value belong to REPLACE and DROP wherever they stand; minutes are `4` or `4min`.
// Source: the paper on Slurm's failure management, "Commands and API".
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay::smd {

/// One thing to do.
struct PolicyStep {
  enum class Kind : std::uint8_t { replace, drop, exit_job };
  Kind kind = Kind::replace;
  std::uint32_t delay = 0;   ///< replace: minutes to wait for a replacement, and to extend the job for it
  std::uint32_t extend = 0;  ///< minutes more for each node that was replaced or dropped

  friend bool operator==(const PolicyStep&, const PolicyStep&) = default;
};

/// What to do, in its order; each kind at most once, exit_job last.  Never empty once parsed.
struct Policy {
  std::vector<PolicyStep> steps;

  friend bool operator==(const Policy&, const Policy&) = default;
};

inline constexpr std::uint32_t kMostPolicyMinutes = 525'600;  ///< a year

/// Reads the value of `variable`, which messages name.  Words count in any case of letters; empty ones are
/// skipped.  Errors: bad_input with cause and remedy: an unknown word ("did you mean"), one given twice, a
/// value that is none, TIME_LIMIT_* without what it belongs to, a word behind EXIT_JOB, no word at all.
Result<Policy> parse_policy(std::string_view text, std::string_view variable);

/// The text that parses to this policy.
std::string format_policy(const Policy& policy);

/// For people, a line for each step: "replace the nodes, waiting up to 4 minutes".
std::vector<std::string> describe_policy(const Policy& policy);

}  // namespace sickbay::smd
