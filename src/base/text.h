// SPDX-License-Identifier: Apache-2.0
// Text from outside: how it is shown in messages, compared and trimmed.
//
// Only what more than one parser needs, and only for ASCII: Slurm's words are ASCII, and a comparison that
// asked the locale would make a replay depend on the host it runs on.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace sickbay {

/// `bytes` in single quotes, fit for one line of a terminal or a log: what is not printable, the quote and
/// the backslash are escaped (\n, \t, \', \\, \xNN); what goes beyond `most` bytes of input is cut, between
/// characters, and said so: 'n[0-9999'... (4096 bytes).
std::string quote_for_message(std::string_view bytes, std::size_t most = 60);

/// The first `most` bytes of `text`, less where they would end within a character of UTF-8.
std::string_view whole_characters(std::string_view text, std::size_t most);

/// Equal but for the case of A-Z.
bool equal_ignoring_case(std::string_view a, std::string_view b);

/// `text` without blanks, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

/// What stands after the first `mark` in `text`; nothing when `mark` is not in it.
std::optional<std::string_view> text_after(std::string_view text, std::string_view mark);

/// One character of UTF-8.
struct Rune {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< else `code` is the byte
};
/// The next character of `text` (not empty).  Overlong forms, surrogates and what is over U+10FFFF are
/// invalid.
Rune next_rune(std::string_view text);

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
constexpr bool is_hex_digit(char c) { return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f'); }
constexpr char to_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace sickbay
