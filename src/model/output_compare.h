// SPDX-License-Identifier: Apache-2.0
// Are the outputs of two runs of a program the same result?
//
// Outputs are compared line by line and word by word; numbers by their values,
// within a tolerance.  What a program prints anew each time (a time stamp, a
// seed, the last digits of a sum) is learned from two good runs: where these
// differ by much, nothing is compared, where they differ by little, that much
// is allowed. Pure; both texts are in memory.  Source: doc/design/identify.md,
// "Outputs".
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

/// Two numbers are the same when they differ by no more than `absolute`, or
/// than `relative` times the larger of their magnitudes.
struct Tolerance {
  double relative = 0, absolute = 0;
  bool allows(double a, double b) const;
};
/// "1e-6" or "1e-6,1e-12": REL[,ABS], both from 0 on and finite.  Errors:
/// bad_input.
Result<Tolerance> parse_tolerance(std::string_view text);

/// What is not compared in one line, or less strictly.
struct LineRule {
  bool free = false;                     ///< all of it
  std::map<std::size_t, double> tokens;  ///< by place in the line: a relative
                                         ///< tolerance, kAnything for none
  static constexpr double kAnything = -1;
};
struct OutputRules {
  Tolerance tolerance;
  std::map<std::size_t, LineRule> lines;  ///< by number of the line, from 0
};
/// The rules by which these two good outputs are the same.  Errors: conflict
/// where they have different numbers of lines: then lines cannot be told from
/// each other.
Result<OutputRules> learn_output_rules(std::string_view good, std::string_view other_good,
                                       Tolerance tolerance = {});

struct OutputDifference {
  std::size_t line = 0;  ///< from 1
  std::string reference,
      other;  ///< the words that differ, or the lines; empty where there is none
};
struct OutputComparison {
  std::size_t different_lines = 0;
  std::vector<OutputDifference> first;  ///< a few
  bool same() const { return different_lines == 0; }
};
/// Blanks between words, and empty lines at the end, do not count.  O(size of
/// both).
OutputComparison compare_outputs(std::string_view reference, std::string_view other,
                                 const OutputRules& rules = {});

}  // namespace sickbay
