// SPDX-License-Identifier: Apache-2.0
// The name of a job or program, taken apart: "/opt/vasp_5.4.4_alice.sh" has the stem "vasp", the version
// 5.4.4 and a user's name.  Nothing is copied.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"

namespace sickbay::workload {

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alnum(char c) { return is_letter(c) || is_digit(c); }

/// Letters, digits, '+' and one symbol for all that people put between words; 0: no keyword goes past it.
inline constexpr int kSymbols = 40;
constexpr std::array<std::uint8_t, 256> make_symbols() {
  std::array<std::uint8_t, 256> table{};
  for (const char c : {'_', '-', '.', ' ', ',', ':', '=', '@'}) table[static_cast<unsigned char>(c)] = 1;
  table['+'] = 2;
  for (int i = 0; i < 10; ++i) table[static_cast<std::size_t>('0' + i)] = static_cast<std::uint8_t>(3 + i);
  for (int i = 0; i < 26; ++i)
    table[static_cast<std::size_t>('a' + i)] = table[static_cast<std::size_t>('A' + i)] =
        static_cast<std::uint8_t>(13 + i);
  return table;
}
inline constexpr std::array<std::uint8_t, 256> kSymbolTable = make_symbols();
constexpr std::uint8_t symbol_of(char c) { return kSymbolTable[static_cast<unsigned char>(c)]; }

/// In small letters, with '-' for each separator: what two spellings of a keyword have in common.
std::string normal_form(std::string_view text);

/// sacct cuts names to its column's width and puts '+' there: "hydra_pmi+".
constexpr bool is_cut(std::string_view name) {
  return name.size() >= 8 && name.ends_with('+') && name[name.size() - 2] != '+';
}

/// Behind the last '/'.
constexpr std::string_view base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}
/// Without ".sh", ".sbatch", ".py", ".exe", ...
std::string_view without_extension(std::string_view name);
/// Without folders, extension, numbers, dates, versions and the user's name behind it; never empty where
/// `name` is not.
std::string_view stem_of(std::string_view name, std::string_view user);

/// What stands at [begin, end) is part of a digest, a UUID or a random id, where letters and digits mean
/// nothing: "3dec" in a SHA-256.
bool in_digest(std::string_view text, std::size_t begin, std::size_t end);

/// The version in the up to three words behind a keyword; `rest` begins right behind it.  With `program`, a
/// plain number grown to the keyword counts ("vasp6"), which in a job's name would be a run's number.
std::string_view version_in(std::string_view rest, bool program);

}  // namespace sickbay::workload
