// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <fmt/format.h>

#include "base/text.h"

namespace sickbay {
namespace {

// Nearly all that is ever written: it stands for itself.
constexpr bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

}  // namespace

void append_json_string(std::string& out, std::string_view s) {
  out += '"';
  for (std::size_t i = 0; i < s.size();) {
    std::size_t plain = i;
    while (plain < s.size() && is_plain(s[plain])) ++plain;
    out.append(s, i, plain - i);
    i = plain;
    if (i == s.size()) break;
    switch (const char c = s[i]; c) {
      case '"':
        out += "\\\"";
        ++i;
        continue;
      case '\\':
        out += "\\\\";
        ++i;
        continue;
      case '\n':
        out += "\\n";
        ++i;
        continue;
      case '\r':
        out += "\\r";
        ++i;
        continue;
      case '\t':
        out += "\\t";
        ++i;
        continue;
      default:
        break;
    }
    if (static_cast<unsigned char>(s[i]) < 0x20 || s[i] == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(s[i]));
      ++i;
    } else if (const Rune rune = next_rune(s.substr(i)); rune.valid) {
      out.append(s, i, rune.bytes);
      i += rune.bytes;
    } else {
      out += "\xEF\xBF\xBD";  // U+FFFD in the place of each byte that is not UTF-8
      ++i;
    }
  }
  out += '"';
}

JsonText& JsonText::key(std::string_view name) {
  next();
  append_json_string(out_, name);
  out_ += ':';
  first_ = true;  // its value follows without a comma
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  next();
  append_json_string(out_, text);
  return *this;
}

JsonText& JsonText::value(std::int64_t number) {
  const fmt::format_int text(number);
  return raw({text.data(), text.size()});
}

JsonText& JsonText::value(const Json& json) {
  next();
  append_json(out_, json);
  return *this;
}

JsonText& JsonText::raw(std::string_view json) {
  next();
  out_ += json;
  return *this;
}

JsonText& JsonText::open(char bracket) {
  next();
  out_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

void JsonText::next() {
  if (!first_) out_ += ',';
  first_ = false;
}

}  // namespace sickbay
