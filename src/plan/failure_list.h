// SPDX-License-Identifier: Apache-2.0
// A list of failures: which node was out of service from when to when.  From a CSV or from our journal.
//
// The CSV has a header; columns are found by name, in any order and case: `node`, `start`, and `end` or
// `duration`; `cause` and `system` may be there; others are left alone.  A row that cannot be read is left
// out and told with its line and what to do; a file without a single good row is an error.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace sickbay::plan {

struct Failure {
  std::uint32_t node = 0;  ///< place in System::nodes
  TimePoint start = kNoTime;
  TimePoint end = kNever;  ///< kNever: the list does not say when it was back
  std::string cause{};
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// The nodes that fail and are repaired together: a cluster, or a part of one.
struct System {
  std::string name;                           ///< "" where the list has no such column
  std::vector<std::string> nodes;             ///< that are named; in the order of their first row
  std::vector<Failure> failures;              ///< by start, then node; those of one node do not overlap
  TimePoint from = kNoTime, until = kNoTime;  ///< the first start and the last start or end
  friend bool operator==(const System&, const System&) = default;
};

struct BadRow {
  std::size_t line = 0;
  std::string what, remedy;
};

struct FailureList {
  std::vector<System> systems;  ///< by name; each has a failure
  std::vector<BadRow> bad;      ///< the first kToldRows of them
  std::size_t rows = 0, bad_rows = 0;
  std::size_t merged = 0;  ///< rows that fell into the time of another of their node
};
inline constexpr std::size_t kToldRows = 20;

/// Times: RFC 3339 or "2005-06-21 10:54[:00]" (UTC where no zone is written), or seconds since 1970.
/// Durations: "90s", "2h", or sacct's "01:30:00".  Errors: bad_input.
Result<FailureList> parse_failure_list(std::string_view text);
/// The CSV that gives `list` again.
std::string failure_list_text(const FailureList& list);

/// The failures that the output of `sickbay journal --json` tells: a node that Slurm has set DOWN, until it
/// is no longer so.  Nodes that a person set DOWN were not lost.  Errors: bad_input.
Result<FailureList> failures_of_journal(std::string_view lines);

}  // namespace sickbay::plan
