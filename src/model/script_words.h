// SPDX-License-Identifier: Apache-2.0
// Words of a batch script, read without a shell: which may be files that it reads, and whether it names a
// folder or another place to write to.
//
// A plain reading, line by line and in linear time, of whatever language the script is in.  It errs to the
// careful side: what it takes for a path that is none costs a question, what it misses a user's file.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sickbay {

/// Words of one line that may be read: words end at blanks and at any of ;|&<>()[]{}'"`=, and where `>`
/// stands before a word it is written, and left out.
std::vector<std::string> words_of(std::string_view line);

/// The variables that a script's paths are made of: those of its submission, and those that it sets itself.
class ShellNames {
 public:
  ShellNames(const std::vector<std::string>& environment, std::string user);

  /// A line with ~, $NAME and ${NAME} written out, without its quotes, and with paths in their plain form
  /// ("//" and
  /// "/./" are "/").  Left as they are: names not known, and those of the job's own folder (PWD,
  /// SLURM_SUBMIT_DIR, all of Slurm's), which in a copy are the copy's.  NAME=value in it counts from there
  /// on.
  std::string expand(std::string_view line);
  /// More was to be written out than may be: what was not is not known.
  bool too_much() const { return written_ > kMostWritten; }

  static constexpr std::size_t kMostWritten = 16U << 20;  ///< of values, over all lines
  static constexpr std::size_t kLongestValue = 4096;      ///< a longer one is no path

 private:
  const std::string* value_of(std::string_view name) const;
  std::map<std::string, std::string, std::less<>> values_;
  std::string user_;
  std::size_t written_ = 0;
};

/// Whether an expanded line has `folder`, an absolute path, whole or as the start of a path.
bool names_path(std::string_view line, std::string_view folder);

/// Whether an expanded line directs output to an absolute path that is not below /tmp or /dev: behind `>`,
/// -o,
/// --output or --out.
bool writes_elsewhere(std::string_view line);

}  // namespace sickbay
