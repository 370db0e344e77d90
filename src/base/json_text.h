// SPDX-License-Identifier: Apache-2.0
// JsonText: the text of a JSON value, written piece by piece.
//
// It writes what Json::dump() of the same value gives, byte for byte, and makes no value for it: an answer of
// ten thousand rows has half a million members, and making each of them to write it once and drop it takes
// many times as long as the writing.  What is small, or read by anybody, stays a Json.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace sickbay {

/// Appends `text` as a JSON string, quotes included.  What is not UTF-8 becomes U+FFFD, byte for byte.
void append_json_string(std::string& out, std::string_view text);
/// Appends the text of `value`, as dump() has it.
void append_json(std::string& out, const Json& value);

class JsonText {
 public:
  /// Appends to `out`, which must outlive it.
  explicit JsonText(std::string& out) : out_(out) {}

  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  /// The next value is the member of that name.
  JsonText& key(std::string_view name);

  JsonText& value(std::string_view text);
  JsonText& value(const std::string& text) { return value(std::string_view(text)); }
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(std::same_as<bool> auto b) { return raw(b ? "true" : "false"); }
  JsonText& value(std::int64_t number);
  JsonText& value(const Json& json);
  /// What is JSON already: a value, or within an object some of its members.
  JsonText& raw(std::string_view json);

  template <class T>
  JsonText& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  void next();  // a comma, where something stands before

  std::string& out_;
  bool first_ = true;
};

}  // namespace sickbay
