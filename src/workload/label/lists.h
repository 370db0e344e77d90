// SPDX-License-Identifier: Apache-2.0
// The lists of labels as they stand in the files (doc/formats/labels.md), read, checked and laid over each
// other.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "workload/label/label.h"

namespace sickbay::workload {

/// How much of a name a keyword must be.
enum class Match : std::uint8_t {
  word,        ///< a whole word of it
  whole,       ///< all of it, but for path, extension, version and the like
  inside,      ///< anywhere
  executable,  ///< all of the name of a step, or of a program in the submit line
};

/// What must stand with a keyword, for many mean something else besides: g16 is a program and a grid.
enum class Needs : std::uint8_t {
  nothing,  ///< it is enough
  alone,    ///< nothing else that says something in the name, or a sign
  sign,     ///< another keyword or a sign of the application: in the name, or in any other text of the job
};

struct Keyword {
  std::string text;
  Match match = Match::word;
  Needs needs = Needs::nothing;
  std::string version;  ///< what the keyword itself says: "16" of g16
};

/// Applications of one file that share words which rule them out.
inline constexpr std::uint8_t kNoGroup = 0xff;
inline constexpr std::uint8_t kMostGroups = 64;

struct Application {
  std::string name, field;
  std::vector<Keyword> keywords;
  std::vector<std::string> not_words;  ///< a name with one of these words is not it
  std::vector<std::string> signs;      ///< words that make a keyword sure which needs one
  std::uint8_t group = kNoGroup;
  bool wrapper = false;  ///< runs other applications; counts where none of those is found
};

struct Rename {
  std::string name;  ///< whole name, or a start of it with '*' behind
  std::string application, field;
  std::string cluster, user;  ///< empty: any
};

struct Lists {
  std::vector<Application> applications;
  std::vector<std::string> ignore;
  std::vector<Rename> renames;
  std::vector<std::pair<std::string, std::string>> unknown;        ///< name, kind
  std::vector<std::pair<std::string, std::uint8_t>> not_of_group;  ///< word, group
  std::uint8_t groups = 0;
  std::vector<std::string> before, after;  ///< what people glue to a keyword: "runvasp"
};

/// What no two applications may share: keywords that differ only in case and separators are one, executables
/// that differ only in case.
std::string claim_of(const Keyword& keyword);

/// Errors: bad_input with file:line:column (unknown keys, wrong types, a keyword claimed twice by one file,
/// a rename to an application that no list has, a removal of what is not there).
Result<Lists> parse_lists(std::span<const LabelFile> files);
/// Lays one more file over `lists`; after an error they are half done.
Status lay_over(Lists& lists, const LabelFile& file);

}  // namespace sickbay::workload
