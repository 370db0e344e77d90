// SPDX-License-Identifier: Apache-2.0
#include "test/sim_runner/scenario_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/duration.h"
#include "base/text.h"

namespace sickbay::sim {

Words words_of(std::string_view line) {
  Words words;
  while (!(line = trimmed(line)).empty()) {
    const auto blank = std::min(line.find_first_of(" \t"), line.size());
    words.emplace_back(line.substr(0, blank));
    line.remove_prefix(blank);
  }
  return words;
}

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::bad_input, std::move(what)); }

std::pair<std::string, std::string> key_value(const std::string& word) {
  const auto equals = word.find('=');
  if (equals == std::string::npos) return {word, ""};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<std::chrono::milliseconds> duration_word(const Words& words, std::string_view name) {
  for (const auto& word : words)
    if (const auto [key, value] = key_value(word); key == name) {
      const auto time = parse_duration(value);
      if (!time) return fail(time.error());
      return std::chrono::duration_cast<std::chrono::milliseconds>(*time);
    }
  return bad(fmt::format("'{}=TIME' is missing", name));
}

}  // namespace sickbay::sim
