// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace sickbay {

namespace {

// Whether a message may hold it as it is: neither a control character (C0, DEL, C1) nor one that is not seen
// and may make a name look like another (marks of zero width, line separators, changes of direction).
bool is_shown(const Rune& rune) {
  const auto within = [&](char32_t least, char32_t most) { return rune.code >= least && rune.code <= most; };
  return rune.valid && rune.code >= 0x20 && !within(0x7f, 0x9f) && !within(0x200b, 0x200f) &&
         !within(0x2028, 0x202e) && !within(0x2060, 0x206f) && rune.code != 0x61c && rune.code != 0xfeff;
}

}  // namespace

std::string quote_for_message(std::string_view bytes, std::size_t most) {
  std::string quoted = "'";
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const Rune rune = next_rune(bytes.substr(taken));
    // Whole characters only: half of one would make the message no UTF-8.
    if (taken + rune.bytes > most) break;
    const std::string_view character = bytes.substr(taken, rune.bytes);
    taken += rune.bytes;
    if (character == "\n") {
      quoted += "\\n";
    } else if (character == "\t") {
      quoted += "\\t";
    } else if (character == "'" || character == "\\") {
      quoted += '\\';
      quoted += character;
    } else if (is_shown(rune)) {
      quoted += character;
    } else {
      for (const char c : character) quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  quoted += "'";
  if (bytes.size() > taken) quoted += fmt::format("... ({} bytes)", bytes.size());
  return quoted;
}

std::string_view whole_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  // Back over the bytes that continue a character, to where it begins.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<std::string_view> text_after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == text.npos) return std::nullopt;
  return text.substr(at + mark.size());
}

Rune next_rune(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  // 0xc0, 0xc1 and from 0xf5 on begin nothing in UTF-8 (RFC 3629).
  const std::size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                             : lead >= 0xe0 && lead < 0xf0 ? 3
                             : lead >= 0xc2 && lead < 0xe0 ? 2
                                                           : 1;
  if (length == 1 || text.size() < length) return {lead, 1, false};
  char32_t code = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {lead, 1, false};
    code = (code << 6) | (byte(i) & 0x3fU);
  }
  // Written longer than need be, a surrogate, or beyond Unicode: not valid, or one text would have two
  // spellings.
  constexpr char32_t kLowest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLowest[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return {lead, 1, false};
  return {code, length, true};
}

}  // namespace sickbay
