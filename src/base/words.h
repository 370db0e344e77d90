// SPDX-License-Identifier: Apache-2.0
// Lines, words and numbers of the texts that kernels write.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sickbay {

/// The next line of `rest`, which is shortened; nothing at the end.
inline std::optional<std::string_view> next_line(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

/// The next word of `rest` (parted by blanks and tabs), which is shortened; "" at the end.
inline std::string_view next_word(std::string_view& rest) {
  const std::size_t from = rest.find_first_not_of(" \t");
  if (from == std::string_view::npos) {
    rest = {};
    return {};
  }
  const std::size_t to = std::min(rest.find_first_of(" \t", from), rest.size());
  const std::string_view word = rest.substr(from, to - from);
  rest.remove_prefix(to);
  return word;
}

/// The part of `rest` up to `mark`, all where there is none; `rest` is shortened by both.
inline std::string_view next_part(std::string_view& rest, char mark) {
  const std::size_t end = rest.find(mark);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

/// The whole text as a number; nothing where it is none or does not fit.
inline std::optional<std::int64_t> to_integer(std::string_view text, int base = 10) {
  std::int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
inline std::optional<double> to_fraction(std::string_view text) {
  double value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace sickbay
