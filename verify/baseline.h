// SPDX-License-Identifier: Apache-2.0
// Baseline: what this cluster's good nodes measured, and how far off still counts as good.
//
// `sickbay-verify baseline FILE < lines` makes it from the lines of runs on nodes that are believed to be
// good: per metric the median, and a tolerance wide enough for all that was recorded (but never under a
// floor of the metric, since one quiet evening is no promise).  A value outside is `slow`, never wrong.
#pragma once
#include <istream>
#include <map>
#include <string>

#include "base/result.h"

namespace sickbay::verify {

struct Finding;

/// What is compared.  A phase's own value, or one of its further numbers.
struct Metric {
  std::string_view name;   ///< in the baseline file
  std::string_view phase;  ///< of the line it comes from
  std::string_view field;  ///< of that line
  std::string_view unit;
  bool higher_is_better;
  double floor;  ///< the least tolerance, as a share of the median
};

/// All metrics, as a table.
const std::vector<Metric>& metrics();

class Baseline {
 public:
  struct Row {
    double median = 0;
    double tolerance = 0;  ///< share of the median
    int samples = 0;
  };

  /// Reads a baseline file.  Errors: not_found, bad_input (with line and column), storage_broken.
  static Result<Baseline> load(const std::string& path);
  /// Aggregates lines of sickbay-verify; other lines are skipped.  Errors: bad_input when no line had a
  /// value, or a line says that a node is wrong or slow (that is no baseline).
  static Result<Baseline> record(std::istream& lines);
  /// Writes the file (beside it first, then renamed).  Errors: storage_broken, storage_full.
  Status save(const std::string& path) const;

  /// Marks `finding` slow where it lies outside, and fills its expected range.  No rows: does nothing.
  void judge(Finding& finding) const;
  const std::map<std::string, Row, std::less<>>& rows() const { return rows_; }

 private:
  std::map<std::string, Row, std::less<>> rows_;
};

}  // namespace sickbay::verify
