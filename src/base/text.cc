// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sickbay {

std::string quote_for_message(std::string_view bytes, std::size_t most) {
  std::string quoted = "'";
  for (const char c : bytes.substr(0, most)) {
    if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c < ' ' || c > '~') {  // covers negative chars: bytes of UTF-8 and worse
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  quoted += "'";
  if (bytes.size() > most) quoted += fmt::format("... ({} bytes)", bytes.size());
  return quoted;
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

}  // namespace sickbay
