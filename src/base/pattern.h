// SPDX-License-Identifier: Apache-2.0
// Pattern: whether a text fits what a person wrote: a glob, /an expression/, {a list of names}; '!' before it
// turns it round.
//
// The forms are those of NHC's match strings, so that what a site has in its nhc.conf holds here as well.
// Both sides come from outside: a pattern is bounded when it is read, so that no text can make it cost more
// than a moment.  Which side a '!' turns round for a whole list of lines is said in Patterns, not here.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

inline constexpr std::size_t kMostPattern = 1024;   ///< bytes of a pattern
inline constexpr std::size_t kMostMatched = 65536;  ///< bytes of a text that are looked at
inline constexpr std::size_t kMostParted = 4096;    ///< the same, where a part of it is taken

class Pattern {
 public:
  /// Globs as the shell's [[ TEXT == GLOB ]], expressions as its =~ (POSIX extended; no back references, and
  /// repetitions whose product is at most 255).  Errors: bad_input.
  /// `takes_parts`: part_of() is wanted; then it must be an expression that does not begin with '!'.
  static Result<Pattern> parse(std::string_view written, bool takes_parts = false);

  /// Whether all of `text` fits a glob or is a name of the list, or a part of it fits an expression.
  bool fits(std::string_view text) const { return fits_plain(text) != negated_; }
  /// Without the '!'.
  bool fits_plain(std::string_view text) const;
  /// What the first group of the expression takes of `text`, all that fits where it has none; nothing where
  /// none fits.  A group that takes no part is an empty text.  For one that was read with `takes_parts`.
  std::optional<std::string_view> part_of(std::string_view text) const;
  bool negated() const { return negated_; }
  const std::string& written() const { return written_; }

 private:
  struct Compiled;
  std::string written_, glob_;
  bool negated_ = false;
  std::shared_ptr<const Compiled> expression_;            // null: no expression
  std::shared_ptr<const std::vector<std::string>> list_;  // sorted; null: no list
};

/// What a text of lines must hold: each pattern fits one of them at least, one with '!' none.
class Patterns {
 public:
  /// One pattern on each line; empty lines are left out.  Errors: those of Pattern.
  static Result<Patterns> parse(std::string_view lines);
  bool empty() const { return patterns_.empty(); }
  /// The first pattern, as written, that the lines do not satisfy; nothing where they satisfy all.
  std::optional<std::string> missed_by(const std::vector<std::string_view>& lines) const;

 private:
  std::vector<Pattern> patterns_;
};

/// The lines of `text`, without the end of a line in the manner of DOS.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace sickbay
