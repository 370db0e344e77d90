// SPDX-License-Identifier: Apache-2.0
// What the tables of NHC's checks share: words, options, numbers.  For nhc_checks.cc, nhc_site_checks.cc and
// nhc_process_checks.cc alone.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/diagnose/nhc_checks.h"

namespace sickbay::diagnose::nhc {

using Words = std::vector<std::string>;

/// The note of a check whose shell commands nobody runs here.
inline constexpr std::string_view kShellCommands = "its shell commands are left out";

NhcTranslation not_taken(std::string why);
NhcTranslation taken(NhcRule rule, std::string note = "");
void add_note(std::string& note, std::string_view text);

/// A whole number of at most 10^9.
std::optional<std::int64_t> whole(std::string_view word);
/// "3%"
std::optional<std::int64_t> percent(std::string_view word);
/// A match string that is only a name.
bool is_literal(std::string_view word);
std::string at(const Words& words, std::size_t i);
/// As the words of an expression.
std::string as_text(std::string_view text);
/// `words` from `first` on, one on each line; nothing where one of them has a line's end or the last is
/// empty.
std::optional<std::string> as_lines(const Words& words, std::size_t first = 0);

/// getopts: letters of `spec` with ':' take a value.
struct Options {
  std::map<char, Words> given;
  Words rest;
  bool wrong = false;
  bool has(char letter) const { return given.contains(letter); }
  std::string last(char letter) const { return has(letter) ? given.at(letter).back() : ""; }
};
Options parse_options(const Words& words, std::string_view spec);

/// One row of a table of checks.
struct CheckRow {
  std::string_view name;
  NhcTranslation (*translate)(const Words&, const NhcSettings&);
};
/// Commands, files, the network, SMBIOS: nhc_site_checks.cc; null: no such check there.
const CheckRow* site_check_row(std::string_view name);
/// Processes: nhc_process_checks.cc; likewise.
const CheckRow* process_check_row(std::string_view name);
/// A line that begins with the path of a program.
NhcTranslation program_check(const Words& words, const NhcSettings& settings);

}  // namespace sickbay::diagnose::nhc
