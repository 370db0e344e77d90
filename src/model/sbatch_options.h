// SPDX-License-Identifier: Apache-2.0
// sbatch's command line: which options there are, which take a value, and where the script stands.
//
// Both who submits first (sickbay submit) and who submits again (adapters/slurm) must find the script behind
// options that are sbatch's, not ours; this is the one table they share.  It holds the options of Slurm 22.05
// as its sbatch hands them to getopt_long, and those that later releases added.  The reading follows GNU
// getopt_long with "+": options end at the first other word or at "--", letters may be clustered (-HN2),
// long names may be cut to an unambiguous start, an optional value stands in the same word.
// An option that the table does not know is passed on: sbatch is the judge of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace sickbay {

enum class OptionValue : std::uint8_t { none, required, optional };

/// One row of an option table.  Names are literals: rows live for ever.
struct CommandOption {
  std::string_view name;  ///< long, without dashes
  char letter = 0;        ///< short, 0 where there is none
  OptionValue value = OptionValue::none;
  std::string_view means = {};  ///< the name this is another word for; empty for most
};

/// All options of sbatch, sorted by name.
std::span<const CommandOption> sbatch_option_table();
/// The row of a whole long name, or null.
const CommandOption* find_sbatch_option(std::string_view name);

/// One option as it was given.
struct GivenOption {
  const CommandOption* option = nullptr;  ///< null: not in the table
  std::string name;                       ///< the row's name, synonyms resolved; for an unknown one as given
  std::optional<std::string> value;
  bool letters = false;              ///< an unknown one of the short kind: -9
  std::size_t first = 0, count = 1;  ///< the words that hold it (letters of one cluster share a word)

  /// The option as one word that sbatch reads alike: "--nodes=2", "--hold"; an unknown one as given.
  std::string text() const;
};

/// A command line of sbatch, taken apart.  No words are lost: own + passed + script + script_args.
struct SbatchLine {
  std::vector<GivenOption> options;   ///< sbatch's, in order
  std::vector<GivenOption> own;       ///< those of the `own` table
  std::vector<std::string> passed;    ///< the words of `options` exactly as given, for the first submission
  std::optional<std::string> script;  ///< file name; nothing: standard input (or --wrap)
  std::vector<std::string> script_args;
  bool heterogeneous = false;  ///< a ":" stood among the options: more than one job component

  /// The last use of option `name` (sbatch's), or null.
  const GivenOption* last(std::string_view name) const;
  const GivenOption* last_own(std::string_view name) const;
};

/// Takes the words after "sbatch" apart.  `own` are options that are not sbatch's: only their whole long
/// names are taken, and they go before sbatch's abbreviations.
/// Errors: usage (a value is missing, a long name is ambiguous, an own option has a value that it does not
/// take): what sbatch would say, with a remedy.
Result<SbatchLine> parse_sbatch_line(std::span<const std::string> words,
                                     std::span<const CommandOption> own = {});

/// The options of the `#SBATCH` lines of a script, each word as sbatch takes it from there: quotes and
/// backslashes resolved, a '#' ends the line, reading ends at the first line that is neither blank nor
/// comment. Errors: bad_input with the line (a quote that does not end), usage as above.
Result<std::vector<GivenOption>> parse_script_options(std::string_view script);

/// A line "#SBATCH hetjob" (or packjob, its old name): the script is of a job with several components.
bool has_heterogeneous_line(std::string_view script);

}  // namespace sickbay
